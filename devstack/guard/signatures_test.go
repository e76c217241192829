package guard

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/devstack/guard/rules"
)

func TestAServicesClockRefusesWhatIsSignedAtAnotherTime(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		service Service
		backend backend
		ahead   time.Duration // of the service's clock
		status  int           // 0: taken
		says    string
	}{
		{DynamoDB, &dynamoDB{}, 4 * time.Minute, 0, ""},
		{DynamoDB, &dynamoDB{}, 6 * time.Minute, 400, "Signature expired: 20260102T030405Z is now earlier than 20260102T030505Z"},
		{SQS, &sqs{}, -6 * time.Minute, 400, "Signature not yet current"},
		{S3, &s3{}, 6 * time.Minute, 0, ""},
		{S3, &s3{}, -16 * time.Minute, 403, "RequestTimeTooSkewed"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("X-Amz-Date", now.Format(rules.SignatureTime))
		a := byClock(&call{service: c.service, r: r}, c.backend, now.Add(c.ahead))
		if c.status == 0 {
			require.Nil(t, a, "%+v", c)
			continue
		}
		require.Equal(t, c.status, a.status)
		body, err := a.whole()
		require.NoError(t, err)
		require.Contains(t, string(body), c.says)
	}
}

func TestAFaultConcernsOneKeyOnly(t *testing.T) {
	f := newFaults()
	f.add(Fault{Service: S3, AccessKey: "OLD", Status: 403}, time.Now())
	for key, want := range map[string]int{"OLD": 403, "NEW": 0, "OLDER": 0} {
		r := httptest.NewRequest(http.MethodGet, "/b/k", nil)
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20260102/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0")
		p := f.match(&call{r: r}, S3, time.Now())
		require.Equal(t, want, p.Status, key)
	}
}
