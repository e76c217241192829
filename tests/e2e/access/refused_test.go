package access_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// refused is how a service tells one cause.
type refused struct {
	status int
	code   string
}

// An expired token, a key that is not known yet and a clock that is off are not final,
// whichever service tells them and in whichever words: one refusal costs no attempt.
func TestARefusalForCredentialsOrClockIsRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.StartWorker()
	for _, round := range []map[string]refused{
		{harness.DynamoDB: {400, "ExpiredTokenException"}, harness.Kinesis: {400, "ExpiredTokenException"}, harness.S3: {400, "ExpiredToken"}, harness.SQS: {403, "ExpiredToken"}},
		{harness.DynamoDB: {400, "RequestExpired"}, harness.Kinesis: {400, "RequestExpired"}, harness.S3: {403, "RequestTimeTooSkewed"}, harness.SQS: {400, "RequestExpired"}},
		{harness.DynamoDB: {400, "UnrecognizedClientException"}, harness.Kinesis: {400, "UnrecognizedClientException"}, harness.S3: {403, "InvalidAccessKeyId"}, harness.SQS: {403, "InvalidClientTokenId"}},
		{harness.DynamoDB: {403, "InvalidClientTokenId"}, harness.Kinesis: {403, "InvalidClientTokenId"}, harness.S3: {400, "TokenRefreshRequired"}, harness.SQS: {400, "UnrecognizedClientException"}},
	} {
		var faults []string
		before := w.Guard.Counters(t)
		for service, target := range w.targets() {
			for _, operation := range operations[service] {
				faults = append(faults, w.Guard.Inject(t, harness.Fault{Service: service, Operation: operation, Target: target, Count: 1, Status: round[service].status, Code: round[service].code}))
			}
		}
		run := w.start(w.jobs()...)
		require.Equal(t, len(w.jobs()), w.succeeds(run, round[harness.DynamoDB].code), "one attempt a job")
		after := w.Guard.Counters(t)
		for service, target := range w.targets() {
			for _, operation := range operations[service] {
				faulted := after.Sum(service, operation, target).Faulted - before.Sum(service, operation, target).Faulted
				require.Equal(t, 1, faulted, "%s %s was refused once", service, operation)
			}
		}
		for _, id := range faults {
			w.Guard.Clear(t, id)
		}
	}
}

// A machine whose clock is twenty minutes off works: the first refusal teaches the time.
func TestAClockThatIsOffIsLearnedFromTheAnswer(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]string{"slow": "20m", "fast": "-20m"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for service, target := range w.targets() {
				w.Guard.Inject(t, harness.Fault{Service: service, Target: target, Skew: skew})
			}
			w.StartWorker()
			require.Equal(t, len(w.jobs()), w.succeeds(w.start(w.jobs()...), name), "one attempt a job")
		})
	}
}

// What goes on being refused is waited for, and costs no record one of its attempts.
func TestARefusalThatLastsForSecondsIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.StartWorker()
	require.Equal(t, len(w.jobs()), w.succeeds(w.start(w.jobs()...), "before"))
	for service, target := range w.targets() {
		w.Guard.Inject(t, harness.Fault{Service: service, Target: target, For: "4s", Status: http.StatusBadRequest, Code: "ExpiredTokenException"})
	}
	w.succeeds(w.start(w.jobs()...), "while tokens are expired")
}

// keyring gives a worker its credentials, as the agent of a container does.
type keyring struct {
	mu      sync.Mutex
	key     string
	fetched atomic.Int32
}

func (k *keyring) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	k.fetched.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]string{"AccessKeyId": k.key, "SecretAccessKey": "secret", "Token": "token of " + k.key,
		"Expiration": time.Now().Add(6 * time.Hour).UTC().Format(time.RFC3339)})
}

// A worker whose token has expired fetches a new one and goes on with it, long before
// the token itself says that it ends.
func TestAnExpiredTokenIsFetchedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keys := &keyring{key: w.Name("OLD")}
	old := keys.key
	agent := httptest.NewServer(keys)
	t.Cleanup(agent.Close)
	w.StartWorker(append(noCredentials(), "AWS_CONTAINER_CREDENTIALS_FULL_URI="+agent.URL)...)
	require.Equal(t, len(w.jobs()), w.succeeds(w.start(w.jobs()...), "with the first token"))
	first := keys.fetched.Load()
	keys.mu.Lock()
	keys.key = w.Name("NEW")
	keys.mu.Unlock()
	for service := range w.targets() {
		w.Guard.Inject(t, harness.Fault{Service: service, AccessKey: old, Status: http.StatusBadRequest, Code: "ExpiredTokenException"})
	}
	require.Equal(t, len(w.jobs()), w.succeeds(w.start(w.jobs()...), "with the second"), "one attempt a job")
	require.Greater(t, keys.fetched.Load(), first)
	require.LessOrEqual(t, keys.fetched.Load(), first+int32(len(w.jobs())), "no more than one each")
}
