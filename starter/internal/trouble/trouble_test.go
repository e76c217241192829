package trouble

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTroubleIsOneLine(t *testing.T) {
	require.True(t, Trouble{}.None())
	require.Empty(t, Trouble{}.String())
	both := Trouble{WaitsFor: []string{"a", "b"}, LastError: "Throttled: budget is paused"}
	require.False(t, both.None())
	require.Equal(t, "waits for a, b; last error: Throttled: budget is paused", both.String())
}

func TestOnlyAFewThingsAreTold(t *testing.T) {
	var many Trouble
	for _, what := range []string{"a", "b", "a", "c", "d", "e"} {
		many.wait(what)
	}
	many.few()
	require.Equal(t, []string{"a", "b", "c", "and 2 more"}, many.WaitsFor)
}
