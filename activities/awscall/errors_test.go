package awscall

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/activities"
)

// What has no code of its own is judged by its status, as everywhere.
func TestAWSErrorTypes(t *testing.T) {
	for _, status := range []int{0, 302, 400, 401, 403, 404, 408, 409, 410, 412, 413, 422, 425, 429, 500, 503} {
		require.Equal(t, activities.StatusType(status), Answer{Status: status}.Type(), "%d", status)
	}
	require.Equal(t, activities.TypeThrottled, Answer{Status: 503, Code: "SlowDown"}.Type())
}
