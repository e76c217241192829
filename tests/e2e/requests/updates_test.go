package requests_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
)

// TestClaimsLeaveUpdatesForResume: a job that outlives its grace keeps the request
// in one run, which takes 2,000 updates.
func TestClaimsLeaveUpdatesForResume(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job","heartbeat":"1m","timeout":"1h","input":{"takes":"1h","ignoreCancel":true}}]}`)
	b.awaitBegun(run.GetID(), "a/1")
	b.must(run, workflows.UpdateSuspend, `{"grace":"0s","wait":"0s"}`)
	claim := request.ClaimAnswer{}
	var claims int
	var refusal error
	for claims = 0; claims < 2_000; claims++ {
		refusal = b.updateInto(run, workflows.UpdateClaim, fmt.Sprintf(`{"holder":"me","lease":"1h","token":%d}`, claim.Token), &claim)
		if refusal != nil {
			break
		}
	}
	var application *temporal.ApplicationError
	require.True(t, errors.As(refusal, &application), "%v after %d claims", refusal, claims)
	require.Equal(t, activities.TypeConflict, application.Type())
	require.Contains(t, application.Message(), "kept for resume and stop")
	require.Equal(t, 1_799, claims, "beside the suspend")

	again := 0
	for ; again < 150; again++ { // what changes nothing can't use up the rest either
		if _, err := b.update(run, workflows.UpdateSuspend, `{"wait":"0s"}`); err != nil {
			break
		}
	}
	require.InDelta(t, 100, again, 2)
	s := b.must(run, workflows.UpdateResume, fmt.Sprintf(`{"holder":"me","token":%d}`, claim.Token))
	require.Equal(t, jobchain.Running, s.State)
	b.must(run, workflows.UpdateStop, `{"grace":"0s"}`)
	require.Equal(t, jobchain.Stopped, b.result(run).State)
	b.replay(run.GetID(), 1)
}

// TestSweepLooksForPollersBeforeItClaims: a request whose workers are gone is swept
// again and again, and each claim would be one of its updates.
func TestSweepLooksForPollersBeforeItClaims(t *testing.T) {
	b := newBench(t)
	kind := b.Name("kind")
	run := b.start(`{"type":"` + kind + `","jobs":[` + oneLongJob + `,{"id":"b","activity":"Test.Job","taskQueue":"` + b.Name("nobody") + `","after":["a"]}]}`)
	b.await(run, "a runs", jobRunning(0))
	b.must(run, workflows.UpdateSuspend, `{}`)
	clause := fmt.Sprintf(`SluiceType=%q AND SluiceState="SUSPENDED"`, kind)
	harness.Await(t, "it is seen suspended", visible(b.c, clause, 1))
	elsewhere := harness.Start(t)
	elsewhere.StartWorker()
	var raw json.RawMessage
	require.NoError(t, sweep(t, elsewhere, b.Name("sweep"), clause).Get(b.patient(), &raw))
	require.Contains(t, string(raw), "no worker polls queue")
	var swept resumer.Result
	require.NoError(t, json.Unmarshal(raw, &swept))
	require.Len(t, swept.Failed, 1)
	require.NotContains(t, string(raw), "null", "lists are lists, if empty ones")
	updates := 0
	for _, event := range b.history(run) {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED {
			updates++
		}
	}
	require.Equal(t, 1, updates, "only the suspend")
	b.must(run, workflows.UpdateStop, `{}`)
}
