package claiming_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"sluice/tests/harness"
	"sluice/tests/taskservice"
)

// withService is a claim input for the stand-in.
func withService(service *taskservice.Service, reclaimBefore string) map[string]any {
	return map[string]any{"claim": map[string]string{
		"service": service.URL, "workerGroup": "sluice", "workerId": "one", "reclaimBefore": reclaimBefore}}
}

func (b *bench) awaitRun(service *taskservice.Service, taskID string, what string, ok func(taskservice.Run) bool) {
	b.t.Helper()
	harness.Await(b.t, taskID+" "+what, func(context.Context) error {
		if run := service.Run(taskID, 0); !ok(run) {
			return fmt.Errorf("the service has %+v", run)
		}
		return nil
	})
}

func inState(state, reason string) func(taskservice.Run) bool {
	return func(r taskservice.Run) bool { return r.State == state && r.Reason == reason }
}

// Every outcome of the work reaches the service under its name and reason.
func TestOutcomesAreReported(t *testing.T) {
	b, service := newBench(t), taskservice.Start(t)
	service.Set(20*time.Minute, 0, "secret-token")
	b.StartWorker("SLUICE_TASK_SERVICE_URL="+service.URL, "SLUICE_TASK_SERVICE_TOKEN=secret-token")
	for name, c := range map[string]struct {
		payload       nap
		state, reason string
	}{
		"good":      {nap{}, "completed", ""},
		"bad":       {nap{Fail: "Broken"}, "failed", ""},
		"malformed": {nap{Fail: "InvalidInput"}, "exception", "malformed-payload"},
		"flaky":     {nap{Fail: "Unavailable"}, "exception", "intermittent-task"},
	} {
		service.Payload(b.queue+name, c.payload)
		b.put(b.queue, message(b.queue+name, 0, nap{Sleep: "ignored, since the service's payload counts"}))
		defer func() {
			b.awaitRun(service, b.queue+name, "reported", inState(c.state, c.reason))
			b.awaitTask(b.queue+name, 0)
			require.Equal(t, 1, service.Run(b.queue+name, 0).Reports)
		}()
	}
	service.Inject(taskservice.Fault{Operation: "failed", Status: 503, Count: 1}) // repeated until answered
	b.claim(withService(service, "3m"))
	b.awaitStatus("all ended", func(s status) bool { return s.Finished == 4 && s.Failed == 3 })
	b.awaitEmpty(b.queue)
	b.Record("task/"+b.queue+"good/0", "Task", "reported")
	for name, scenario := range map[string]string{"bad": "failed-and-reported-again", "malformed": "malformed-payload", "flaky": "intermittent"} {
		b.awaitTask(b.queue+name, 0)
		b.Record("task/"+b.queue+name+"/0", "Task", scenario)
	}
}

// While the service is out, messages are kept, their deliveries excused, and
// nothing is poisoned; then everything runs.
func TestOutageOfTheServicePoisonsNothing(t *testing.T) {
	b, service := newBench(t), taskservice.Start(t)
	b.StartWorker()
	for _, f := range []taskservice.Fault{
		{Status: 500, Count: 1}, {Status: 401, Count: 1}, {Status: 429, Count: 1}, {Status: taskservice.Drop, Count: 1},
	} {
		f.Operation = "claim"
		service.Inject(f)
	}
	in := withService(service, "3m")
	in["maxDequeueCount"] = 2 // fewer than the failures
	in["warnDequeueCount"] = 1
	service.Payload(b.queue, nap{})
	b.put(b.queue, message(b.queue, 0, nothing()))
	b.claim(in)
	b.awaitRun(service, b.queue, "completed", inState("completed", ""))
	s := b.awaitStatus("books closed", func(s status) bool { return s.Finished == 1 })
	require.Zero(t, s.Poisoned)
	require.GreaterOrEqual(t, s.Excused, int64(4))
	b.awaitEmpty(b.queue)
	b.Record(b.id, "ClaimTasks", "excused")
}

func nothing() map[string]any { return map[string]any{} }

// A definite refusal deletes the message; its neighbours run.
func TestRefusedTaskIsDropped(t *testing.T) {
	b, service := newBench(t), taskservice.Start(t)
	b.StartWorker()
	service.Inject(taskservice.Fault{Operation: "claim", TaskID: b.queue + "-gone", Status: 404})
	service.Resolve(b.queue+"-taken", 0, "completed") // 409
	for _, name := range []string{"-gone", "-taken", "-good"} {
		service.Payload(b.queue+name, nap{})
		b.put(b.queue, message(b.queue+name, 0, nothing()))
	}
	b.claim(withService(service, "3m"))
	b.awaitRun(service, b.queue+"-good", "completed", inState("completed", ""))
	b.awaitEmpty(b.queue)
	b.Record(b.id, "ClaimTasks", "refused")
	for _, name := range []string{"-gone", "-taken"} {
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, b.taskStatus(t.Context(), b.queue+name, 0))
	}
}

// Claims are renewed while the work goes on, with a clock of the service that is
// five minutes off.
func TestClaimIsRenewed(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": 5 * time.Minute, "behind": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			b, service := newBench(t), taskservice.Start(t)
			service.Set(12*time.Second, skew, "")
			b.StartWorker()
			service.Payload(b.queue, nap{Sleep: "25s"})
			service.Inject(taskservice.Fault{Operation: "reclaim", Status: 503, Count: 1}) // repeated
			b.put(b.queue, message(b.queue, 0, nothing()))
			b.claim(withService(service, "3m"))
			b.awaitRun(service, b.queue, "completed", inState("completed", ""))
			require.GreaterOrEqual(t, service.Run(b.queue, 0).Reclaims, 3)
			require.GreaterOrEqual(t, b.awaitTask(b.queue, 0).Reclaims, 2)
			b.Record("task/"+b.queue+"/0", "Task", "renewed")
		})
	}
}

// A 409 to a reclaim cancels the work and nothing is reported; a claim that can't
// be renewed in time ends the work, deaf or not, as claim-expired.
func TestLostClaimsEndTheWork(t *testing.T) {
	b, service := newBench(t), taskservice.Start(t)
	service.Set(16*time.Second, 0, "")
	b.StartWorker()
	superseded, expired, deaf := b.queue+"-superseded", b.queue+"-expired", b.queue+"-deaf"
	for _, id := range []string{superseded, expired, deaf} {
		service.Payload(id, nap{Sleep: "10m", Deaf: id == deaf})
		b.put(b.queue, message(id, 0, nothing()))
	}
	service.Inject(taskservice.Fault{Operation: "reclaim", TaskID: expired, Status: 500})
	service.Inject(taskservice.Fault{Operation: "reclaim", TaskID: deaf, Status: 500})
	b.claim(withService(service, "3m"))
	for _, id := range []string{superseded, expired, deaf} {
		b.awaitRun(service, id, "claimed", func(r taskservice.Run) bool { return r.State == "running" })
	}
	service.Resolve(superseded, 0, "exception")

	ended := b.awaitTask(superseded, 0)
	require.Equal(t, "CANCELED", ended.State)
	require.Zero(t, service.Run(superseded, 0).Reports)
	for _, id := range []string{expired, deaf} {
		ended := b.awaitTask(id, 0)
		require.Equal(t, "EXCEPTION", ended.State)
		require.Equal(t, "claim-expired", ended.Reason)
		require.Positive(t, service.Run(id, 0).Reports)
	}
	b.awaitStatus("slots free", func(s status) bool { return s.Running == 0 && s.Failed == 3 })
	b.Record("task/"+superseded+"/0", "Task", "superseded")
	b.Record("task/"+deaf+"/0", "Task", "expired")
}

// stop tells running tasks, and hands back what is claimed while it comes.
func TestStopHandsBack(t *testing.T) {
	b, service := newBench(t), taskservice.Start(t)
	b.StartWorker()
	running, late := b.queue+"-running", b.queue+"-late"
	service.Payload(running, nap{Sleep: "10m"})
	service.Payload(late, nap{Sleep: "10m"})
	service.Inject(taskservice.Fault{Operation: "claim", TaskID: late, Delay: 8 * time.Second})
	b.put(b.queue, message(running, 0, nothing()))
	run := b.claim(withService(service, "3m"))
	b.awaitStatus("one runs", func(s status) bool { return s.Running == 1 })
	b.put(b.queue, message(late, 0, nothing()))
	harness.Await(t, "the late claim is under way", func(context.Context) error {
		if service.Calls("claim") < 2 {
			return fmt.Errorf("%d claims", service.Calls("claim"))
		}
		return nil
	})
	answer, err := b.update("stop", `{"reason":"test"}`)
	require.NoError(t, err)
	require.Equal(t, "STOPPED", answer.State)
	b.awaitRun(service, running, "told to stop", inState("exception", "worker-shutdown"))
	b.awaitRun(service, late, "handed back", inState("exception", "worker-shutdown"))
	var result status
	require.NoError(t, run.Get(t.Context(), &result))
	require.EqualValues(t, 1, result.Claimed)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, b.taskStatus(t.Context(), late, 0))
	b.Record(b.id, "ClaimTasks", "stopped")
	b.Record("task/"+running+"/0", "Task", "stopped")
}
