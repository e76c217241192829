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
	for before := range n {
		var jobs strings.Builder
		for i := range n {
			after := ""
			if i%3 == 0 && i > 0 {
				after = fmt.Sprintf(`"j%d"`, i-3)
			}
			fmt.Fprintf(&jobs, `{"id":"j%d","activity":"A","after":[%s]},`, i, after)
		}
		_, faults := Parse([]byte(fmt.Sprintf(`{"jobs":[%s{"id":"last","activity":"A","after":["j%d"],"input":{"$from":"jobs.j%d"}}]}`, &jobs, n-3, before)))
		if before%3 == 0 {
			require.NoError(t, faults.Err(), before)
		} else {
			require.ErrorContains(t, faults.Err(), fmt.Sprintf("j%d", before))
		}
	}
}
