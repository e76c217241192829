package jobchain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An expression may ask for jobs that are complete before its own starts, however far
// up and wherever in the list, and for no other. Every third job is in the chain.
func TestExpressionsMayAskForEveryJobAboveAndForNoOther(t *testing.T) {
	const n = 201
	var jobs strings.Builder
	for i := range n {
		after := ""
		if i%3 == 0 && i > 0 {
			after = fmt.Sprintf(`"j%d"`, i-3)
		}
		fmt.Fprintf(&jobs, `{"id":"j%d","activity":"A","after":[%s]},`, i, after)
	}
	for asked := range n {
		fmt.Fprintf(&jobs, `{"id":"asks%d","activity":"A","after":["j%d"],"input":{"$from":"jobs.j%d"}},`, asked, n-3, asked)
	}
	_, faults := Parse([]byte(`{"jobs":[` + strings.TrimSuffix(jobs.String(), ",") + `]}`))
	for asked := range n {
		require.Equal(t, asked%3 != 0, faults.Has(fmt.Sprintf("jobs[%d].input", n+asked)), "j%d", asked)
	}
}
