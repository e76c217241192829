package access_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// noCredentials is the environment of a machine that nobody has given any, and whose
// own role can't be asked for.
func noCredentials() []string {
	return []string{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_CONFIG_FILE=/none", "AWS_SHARED_CREDENTIALS_FILE=/none",
		"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:9"}
}

// Credentials that never worked are waited for no longer than new ones take to be known.
func TestCredentialsThatNeverWorkedAreDeniedAfterFifteenSeconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.Name("WRONG")
	for service, says := range map[string]refused{
		harness.DynamoDB: {http.StatusBadRequest, "UnrecognizedClientException"}, harness.Kinesis: {http.StatusBadRequest, "UnrecognizedClientException"},
		harness.S3: {http.StatusForbidden, "InvalidAccessKeyId"}, harness.SQS: {http.StatusForbidden, "InvalidClientTokenId"},
	} {
		w.Guard.Inject(t, harness.Fault{Service: service, AccessKey: key, Status: says.status, Code: says.code, Message: "no such key, says the service"})
	}
	// The emulator of STS takes any key; one that has worked anywhere is waited for longer.
	w.StartWorker("AWS_ACCESS_KEY_ID="+key, "AWS_ENDPOINT_URL_STS=")
	began := time.Now()
	for _, job := range w.jobs() {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			in := *w
			in.t = t
			require.Contains(t, in.denied(in.start(job)), "no such key, says the service")
			require.Greater(t, time.Since(began), 15*time.Second)
		})
	}
}

// A wrong secret is not waited for: the clock is right.
func TestAWrongSignatureIsDeniedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.Name("FORGED")
	for service := range w.targets() {
		says := refused{http.StatusBadRequest, "InvalidSignatureException"}
		if service == harness.S3 {
			says = refused{http.StatusForbidden, "SignatureDoesNotMatch"}
		}
		w.Guard.Inject(t, harness.Fault{Service: service, AccessKey: key, Status: says.status, Code: says.code})
	}
	w.StartWorker("AWS_ACCESS_KEY_ID=" + key)
	w.deniedAtOnce("Signature")
}

// Without credentials or a region every service's activities end at once and tell how to
// give them.
func TestNoCredentialsOrRegionIsToldByEveryActivityAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		says string
	}{
		"no credentials": {noCredentials(), "AWS_ACCESS_KEY_ID"},
		"no region":      {[]string{"AWS_REGION=", "AWS_DEFAULT_REGION=", "AWS_CONFIG_FILE=/none"}, "AWS_REGION"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.StartWorker(c.env...)
			w.deniedAtOnce(c.says)
		})
	}
}

// deniedAtOnce has each job alone fail in its first attempt, with these words.
func (w *world) deniedAtOnce(says string) {
	w.t.Helper()
	for _, job := range w.jobs() {
		run := w.start(job)
		require.Contains(w.t, w.denied(run), says)
		require.Equal(w.t, 1, w.attempts(run), job)
	}
}
