package jobchain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsNotInTheArgumentsIsFoundBeforeTheStart(t *testing.T) {
	doc, faults := Parse([]byte(`{"args":{"bucket":"b","deep":{"a":1}},"jobs":[
		{"id":"a","activity":"x","input":{"ok":{"$from":"args.bucket"},"deep":{"$from":"args.deep.a"},"else":{"$from":"args.nothing || 'x'"},"literal":{"$literal":{"$from":"args.no"}}}},
		{"id":"b","activity":"x","input":{"list":[{"$from":"args.prefix"},{"$from":"args.deep.b"}]}}]}`))
	require.Empty(t, faults)
	require.Equal(t, `jobs[1].input.list[0].$from: "args.prefix": it is not in args; jobs[1].input.list[1].$from: "args.deep.b": it is not in args`,
		doc.Missing().Err().Error())
	doc, faults = Parse([]byte(`{"jobs":[{"id":"a","activity":"x","input":{"$from":"args.bucket"}}]}`))
	require.Empty(t, faults)
	require.Len(t, doc.Missing(), 1)
}

func TestJobsWithoutAHeartbeatAreAdvisedOf(t *testing.T) {
	doc, faults := Parse([]byte(`{"jobs":[{"id":"a","activity":"x"},{"id":"b","activity":"x","heartbeat":"15s"},{"id":"c","workflow":"y"}]}`))
	require.Empty(t, faults)
	advice := doc.Advice()
	require.Len(t, advice, 1)
	require.Equal(t, "jobs[0].heartbeat", advice[0].Path)
	require.Contains(t, advice[0].Message, "10m")
}
