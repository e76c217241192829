package taskclaim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/taskclaim"
)

func TestFateOfEveryClaimAnswer(t *testing.T) {
	for status := range 600 {
		want := taskclaim.Keep
		switch {
		case status >= 200 && status < 300:
			want = taskclaim.Start
		case status == 401, status == 403, status == 408, status == 429:
		case status >= 400 && status < 500:
			want = taskclaim.Drop
		}
		require.Equal(t, want, taskclaim.FateOf(status), "status %d", status)
	}
}

func TestCaseA12DeleteFates(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   taskclaim.DeleteFate
	}{
		{204, "", taskclaim.Deleted},
		{404, "MessageNotFound", taskclaim.Deleted},
		{404, "QueueNotFound", taskclaim.Deleted},
		{400, "PopReceiptMismatch", taskclaim.Stale},
		{400, "OutOfRangeInput", taskclaim.Refused},
		{403, "AuthenticationFailed", taskclaim.Forbidden},
		{401, "", taskclaim.Forbidden},
		{408, "", taskclaim.Repeat},
		{429, "", taskclaim.Repeat},
		{500, "InternalError", taskclaim.Repeat},
		{503, "ServerBusy", taskclaim.Repeat},
		{taskclaim.NoAnswer, "", taskclaim.Repeat},
		{409, "QueueBeingDeleted", taskclaim.Refused},
	} {
		require.Equal(t, c.want, taskclaim.DeleteFateOf(c.status, c.code), "%d %s", c.status, c.code)
	}
}

func TestResolved(t *testing.T) {
	for status, want := range map[int]bool{200: true, 409: true, 404: true, 400: true, 401: false, 429: false, 500: false, 302: false, 0: false} {
		require.Equal(t, want, taskclaim.Resolved(status), "status %d", status)
	}
}
