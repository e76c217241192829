package yaml

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryPathHasItsLine(t *testing.T) {
	lines := LinesOf([]byte("type: x\njobs:\n- id: a\n  input:\n    b: 1\n- id: c\n"))
	for path, want := range map[string]int{
		"type": 1, "jobs": 2, "jobs[0]": 3, "jobs[0].input.b": 5, "jobs[1].id": 6,
		"jobs[1].activity": 6, // not given: its job
		"deadline":         0, // nothing above it
	} {
		require.Equal(t, want, lines.Of(path), path)
	}
	require.Equal(t, 2, LinesOf([]byte("{\n\"jobs\": []}")).Of("jobs"), "JSON too")
	require.Zero(t, LinesOf([]byte(": :\n- x")).Of("jobs"))
}
