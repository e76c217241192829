package requests_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/workflows"
)

func TestChainHandsOutputsOn(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"type":"demo","args":{"n":12345678901234567890123},"jobs":[
		{"id":"a","activity":"Test.Job","input":{"output":{"$from":"args"}}},
		{"id":"b","activity":"Test.Job","after":["a"],"input":{"output":{"got":{"$from":"jobs.a.n"},"plain":{"$literal":{"$from":"x"}},"id":{"$from":"request.type"}}}},
		{"id":"c","workflow":"TestChild","after":["a"],"input":{"output":7}},
		{"id":"d","activity":"Test.Job","after":["b","c"],"retry":2,"input":{"failTries":2,"output":"done"}}]}`)
	result := b.result(run)
	require.Equal(t, "COMPLETE", string(result.State))
	require.JSONEq(t, `{"got":12345678901234567890123,"plain":{"$from":"x"},"id":"demo"}`, string(result.Jobs["b"]))
	require.Equal(t, `7`, string(result.Jobs["c"]))
	require.Equal(t, `"done"`, string(result.Jobs["d"]))
	require.Equal(t, 4, result.FinishedJobs)
	log := b.log(run)
	require.Len(t, log, 6)
	require.Equal(t, "FAIL", string(log[3].State))
	require.Equal(t, "told to fail", log[3].Error)
	require.Equal(t, 3, log[5].Try)
	s := b.status(run)
	require.NotNil(t, s.FinishedAt)
	b.replay(run.GetID(), 1)
	b.Record(run.GetID(), workflows.TypeRequest, "chain-with-child-and-retries")
}
