package http

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/activities"
)

// A trigger is repeated until it is accepted or refused; a redirect that is not
// followed is refused.
func TestTriggersAreRepeatedUntilAccepted(t *testing.T) {
	require.Empty(t, acceptedOnly(200))
	require.Empty(t, acceptedOnly(204))
	require.Equal(t, activities.TypeUnavailable, acceptedOnly(0))
	for _, status := range []int{301, 302, 307, 308, 400, 401, 403, 404, 408, 409, 410, 412, 413, 422, 425, 429, 500, 503} {
		require.Equal(t, activities.StatusType(status), acceptedOnly(status), "%d", status)
	}
}
