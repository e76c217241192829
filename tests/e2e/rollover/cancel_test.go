package rollover_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/tests/harness"
	"sluice/workflows"
)

// A cancel that comes in the task that would end a run ends the workflow: another
// run would never hear of it. No worker is there until all has come, so that one
// task sees a long history and the cancel.
func TestACancelSentDuringARollOverCancels(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	worker := s.StartWorker()
	resource := "dynamodb/" + s.TaskQueue + "/us-east-1/none/write"
	var targets []*target
	var sent []message
	for _, c := range []struct {
		kind, id, document string
		m                  message
	}{
		{workflows.TypeQuiescence, s.Name("watch"), `{"source":{"signal":{}},"repeats":5,"delay":{"base":"10m"}}`, message{"observed", `{"count":1}`, true}},
		{workflows.TypeThroughput, workflows.ThroughputID(resource), fmt.Sprintf(`{"resource":%q}`, resource), message{"pause", `{}`, true}},
		{workflows.TypeRequest, "request/" + s.Name("r"), `{"jobs":[{"id":"a","activity":"Nobody"}]}`, message{"suspend", `{}`, true}},
	} {
		g := start(t, s, c.kind, c.id, c.document)
		g.must(c.m, nil)
		await(g, "it has begun", func(map[string]any) bool { return true })
		targets, sent = append(targets, g), append(sent, c.m)
	}
	worker.Kill()
	for i, g := range targets {
		for range 30 {
			g.must(sent[i], nil)
		}
		require.NoError(t, s.Client.CancelWorkflow(t.Context(), g.id, ""))
	}
	s.StartWorker()
	for _, g := range targets {
		ctx, cancel := patient(t)
		defer cancel()
		var canceled *temporal.CanceledError
		err := s.Client.GetWorkflow(ctx, g.id, "").Get(ctx, nil)
		require.True(t, errors.As(err, &canceled), "%s: %v", g.id, err)
	}
}
