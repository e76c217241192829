package programs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
)

// upgrade is a deployment with two builds, and what waits while they change.
type upgrade struct {
	*harness.Stack
	t                 *testing.T
	deployment        client.WorkerDeploymentHandle
	older, newer      string // build IDs
	requests, watches []string
	sent              int // observations to each watch
	producer          string
	added             int
	builds            map[string]int // workflow tasks, by the build that did them
}

// A release is ramped up, rolled back, and made current after all, while requests are
// suspended, watches wait and a producer buffers: nothing is lost, no job runs twice,
// and no workflow task fails. SLUICE_UPGRADE_FROM names the commit of the older build.
func TestNothingIsLostAcrossAnUpgradeThatIsRolledBackOnce(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	name := s.Name("deployment")
	u := &upgrade{Stack: s, t: t, deployment: s.Client.WorkerDeploymentClient().GetHandle(name), older: "older", newer: "newer", builds: map[string]int{}}
	older := s.StartWorkerOf(harness.OlderWorker(t), "SLUICE_DEPLOYMENT="+name, "SLUICE_BUILD_ID="+u.older)
	u.makeCurrent(u.older)
	u.begin(4)
	u.messages()

	newer := s.StartWorker("SLUICE_DEPLOYMENT="+name, "SLUICE_BUILD_ID="+u.newer)
	u.ramp(u.newer, 50)
	u.messages()
	u.resume(u.requests[0])
	u.ramp("", 0) // rolled back
	u.messages()
	u.resume(u.requests[1])
	u.ramp(u.newer, 50)
	u.messages()
	u.makeCurrent(u.newer)
	require.Zero(t, older.Stop(t))
	u.messages()
	for _, id := range u.requests[2:] {
		u.resume(id)
	}
	u.end()
	require.Zero(t, newer.Stop(t))
	require.Positive(t, u.builds[u.older], "%v", u.builds)
	require.Positive(t, u.builds[u.newer], "%v", u.builds)
}

func (u *upgrade) makeCurrent(build string) {
	u.t.Helper()
	harness.Await(u.t, build+" is current", func(ctx context.Context) error {
		_, err := u.deployment.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build, IgnoreMissingTaskQueues: true})
		return err
	})
}

func (u *upgrade) ramp(build string, percentage float32) {
	u.t.Helper()
	harness.Await(u.t, "ramp of "+build, func(ctx context.Context) error {
		_, err := u.deployment.SetRampingVersion(ctx, client.WorkerDeploymentSetRampingVersionOptions{BuildID: build, Percentage: percentage, IgnoreMissingTaskQueues: true})
		return err
	})
}

// begin starts requests, of which the first job is done, and suspends them; watches of
// signals; and a producer whose stream takes nothing yet.
func (u *upgrade) begin(each int) {
	bucket, stream := u.NewBucket(), u.NewStream(1)
	for range each {
		id := u.Name("request")
		u.StarterWith(`{"suspendTTL":"0s","jobs":[{"id":"first","activity":"S3.List","input":{"bucket":"`+bucket+`"}},
			{"id":"second","after":["first"],"activity":"S3.List","taskQueue":"`+u.TaskQueue+`-later","input":{"bucket":{"$from":"'`+bucket+`'"}}}]}`,
			"request", "run", "--id", id, "-f", "-").OK(u.t)
		u.requests = append(u.requests, id)
		watch := u.Name("quiescence")
		u.StarterWith(`{"source":{"signal":{}},"delay":{"base":"1h"}}`, "quiescence", "run", "--id", watch, "-f", "-").OK(u.t)
		u.watches = append(u.watches, watch)
	}
	for _, id := range u.requests {
		harness.Await(u.t, "the first job is done", func(context.Context) error {
			var status struct{ FinishedJobs int }
			if err := u.ask(id, &status); err != nil || status.FinishedJobs != 1 {
				return fmt.Errorf("%+v %w", status, err)
			}
			return nil
		})
		u.update(id, "suspend", `{"reason":"upgrade"}`, nil)
	}
	u.producer = "producer/" + stream
	u.StarterWith(`{"stream":"`+stream+`","flushInterval":"100ms"}`, "producer", "run", "-f", "-").OK(u.t)
}

// messages sends to all that waits.
func (u *upgrade) messages() {
	u.t.Helper()
	for _, id := range u.watches {
		require.NoError(u.t, u.Client.SignalWorkflow(u.t.Context(), id, "", "observed", json.RawMessage(`{"count":1}`)))
	}
	u.sent++
	for range 3 {
		u.update(u.producer, "add", `{"records":[{"Data":"YQ==","PartitionKey":"k"}]}`, nil)
		u.added++
	}
	for _, id := range u.requests[2:] {
		var status struct{ State string }
		require.NoError(u.t, u.ask(id, &status))
		require.Equal(u.t, "SUSPENDED", status.State)
	}
}

func (u *upgrade) resume(id string) { u.t.Helper(); u.update(id, "resume", `{}`, nil) }

// end runs what was suspended and ends what waits, and looks at all of it.
func (u *upgrade) end() {
	u.StartWorker("SLUICE_TASK_QUEUE=" + u.TaskQueue + "-later")
	for _, id := range u.requests {
		var result struct{ State string }
		require.NoError(u.t, u.Client.GetWorkflow(u.t.Context(), id, "").Get(u.t.Context(), &result), id)
		require.Equal(u.t, "COMPLETE", result.State)
		require.Equal(u.t, 2, u.look(id, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED), "each job succeeded once")
	}
	for _, id := range u.watches {
		u.update(id, "finish", `{}`, nil)
		var result struct{ Count int }
		require.NoError(u.t, u.Client.GetWorkflow(u.t.Context(), id, "").Get(u.t.Context(), &result))
		require.Equal(u.t, u.sent, result.Count, "every observation was counted once")
		u.look(id, enumspb.EVENT_TYPE_UNSPECIFIED)
	}
	var flushed struct{ Sent, Remaining int }
	u.update(u.producer, "flush", `{}`, &flushed)
	require.Zero(u.t, flushed.Remaining)
	var status struct{ Sent int }
	require.NoError(u.t, u.ask(u.producer, &status))
	require.Equal(u.t, u.added, status.Sent)
	u.look(u.producer, enumspb.EVENT_TYPE_UNSPECIFIED)
}

// look counts events of a kind, and the builds that worked; no workflow task failed.
func (u *upgrade) look(id string, kind enumspb.EventType) (n int) {
	u.t.Helper()
	events := u.Client.GetWorkflowHistory(u.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(u.t, err)
		switch event.GetEventType() {
		case kind:
			n++
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			u.builds[event.GetWorkflowTaskCompletedEventAttributes().GetDeploymentVersion().GetBuildId()]++
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			u.t.Errorf("%s: a workflow task failed: %v", id, event.GetWorkflowTaskFailedEventAttributes().GetFailure())
		}
	}
	return n
}

func (u *upgrade) ask(id string, status any) error {
	answer, err := u.Client.QueryWorkflow(u.t.Context(), id, "", "status")
	if err != nil {
		return err
	}
	return answer.Get(status)
}

func (u *upgrade) update(id, name, input string, answer any) {
	u.t.Helper()
	handle, err := u.Client.UpdateWorkflow(u.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: []any{json.RawMessage(input)}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(u.t, err, "%s %s", id, name)
	require.NoError(u.t, handle.Get(u.t.Context(), answer), "%s %s", id, name)
}
