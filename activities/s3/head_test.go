package s3

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/activities/awscall"
)

// A HEAD that is refused without a body is no malformed request: the reason is asked
// for, an expired token fetched anew, and the object described.
func TestAHeadRefusedWithoutABodyIsNotTakenForAWrongRequest(t *testing.T) {
	var heads, gets int
	denied := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			heads++
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch gets++; {
		case denied:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
		case gets == 1:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
		default:
			w.Header().Set("Etag", `"e1"`)
			w.Header().Set("Content-Range", "bytes 0-0/1234")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, "x")
		}
	}))
	defer server.Close()
	config := aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKIA", "secret-key", "")}
	awscall.Watch(&config)
	s := &Activities{API: awss3.NewFromConfig(config, func(o *awss3.Options) { o.UsePathStyle = true })}
	described, err := s.Describe(t.Context(), json.RawMessage(`{"bucket":"b","key":"k"}`))
	require.NoError(t, err)
	require.Equal(t, Object{Bucket: "b", Key: "k", ETag: "e1", Size: 1234}, described.Object)
	require.Equal(t, 1, heads)
	require.Equal(t, 2, gets)

	denied = true
	_, err = s.Describe(t.Context(), json.RawMessage(`{"bucket":"b","key":"k"}`))
	require.Equal(t, activities.TypeAccessDenied, activities.TypeOf(err))
}
