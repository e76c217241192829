package connect

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// bucket is as much of S3 as keeps objects; refuse answers 403.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	refuse  bool
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch body, there := b.objects[r.URL.Path]; {
	case b.refuse:
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPut:
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		b.objects[r.URL.Path] = raw
	case there:
		_, _ = w.Write(body)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func newPayloadStore(t *testing.T) (converter.StorageDriver, *bucket) {
	t.Helper()
	b := &bucket{objects: map[string][]byte{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(server.URL), UsePathStyle: true, Region: "eu-west-1", Retryer: aws.NopRetryer{},
		Credentials:                credentials.NewStaticCredentialsProvider("id", "key", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	})
	storage := ExternalStorage("payloads-here", client)
	require.Len(t, storage.Drivers, 1)
	require.Equal(t, payloadThreshold, storage.PayloadSizeThreshold)
	return storage.Drivers[0], b
}

func TestWithoutABucketNothingTravelsByReference(t *testing.T) {
	require.Empty(t, ExternalStorage("", nil).Drivers)
}

// What is stored comes back as it was, in its order; the same payload is the same
// object, so that a repeat leaves nothing behind, and another is another.
func TestPayloadsComeBackAndARepeatIsTheSameObject(t *testing.T) {
	store, b := newPayloadStore(t)
	payloads := []*commonpb.Payload{
		{Metadata: map[string][]byte{"encoding": []byte("json/plain"), "a": []byte("1"), "b": []byte("2")}, Data: []byte(strings.Repeat("x", 1<<20))},
		{Metadata: map[string][]byte{"encoding": []byte("binary/plain")}, Data: []byte{0, 1, 255}},
		{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte{0, 1, 255}},
	}
	claims, err := store.Store(converter.StorageDriverStoreContext{Context: t.Context()}, payloads)
	require.NoError(t, err)
	require.Len(t, b.objects, 3, "metadata counts as well")
	again, err := store.Store(converter.StorageDriverStoreContext{Context: t.Context()}, payloads)
	require.NoError(t, err)
	require.Equal(t, claims, again)
	require.Len(t, b.objects, 3)

	got, err := store.Retrieve(converter.StorageDriverRetrieveContext{Context: t.Context()},
		[]converter.StorageDriverClaim{claims[2], claims[0], claims[1]})
	require.NoError(t, err)
	for i, want := range []*commonpb.Payload{payloads[2], payloads[0], payloads[1]} {
		require.True(t, proto.Equal(want, got[i]), "payload %d", i)
	}
}

func TestAPayloadThatIsNotThereIsAnErrorThatNamesIt(t *testing.T) {
	store, b := newPayloadStore(t)
	claims, err := store.Store(converter.StorageDriverStoreContext{Context: t.Context()}, []*commonpb.Payload{{Data: []byte("x")}})
	require.NoError(t, err)
	clear(b.objects)
	_, err = store.Retrieve(converter.StorageDriverRetrieveContext{Context: t.Context()}, claims)
	require.ErrorContains(t, err, claims[0].ClaimData["key"])

	b.refuse = true
	_, err = store.Store(converter.StorageDriverStoreContext{Context: t.Context()}, []*commonpb.Payload{{Data: []byte("x")}})
	require.ErrorContains(t, err, "store payload in bucket payloads-here")
}
