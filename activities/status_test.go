package activities

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// One table of statuses for all services; what each makes of its own is tested
// beside it.
func TestErrorTypesByStatus(t *testing.T) {
	for status, want := range map[int]string{
		0: TypeUnavailable, 302: TypeInvalidInput, 400: TypeInvalidInput, 401: TypeAccessDenied, 403: TypeAccessDenied,
		404: TypeNotFound, 408: TypeUnavailable, 409: TypeConflict, 410: TypeNotFound, 412: TypeConflict, 413: TypeTooLarge,
		422: TypeInvalidInput, 425: TypeUnavailable, 429: TypeThrottled, 500: TypeUnavailable, 503: TypeUnavailable,
	} {
		require.Equal(t, want, StatusType(status), "%d", status)
	}
}
