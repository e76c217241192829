package activities

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// CallOptions are for activities that do one bounded piece of work: a call or a
// batch of calls to a service. A killed worker is noticed within 15 s; what is
// worth repeating is repeated for an hour.
func CallOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    10 * time.Minute,
		ScheduleToCloseTimeout: time.Hour,
		HeartbeatTimeout:       15 * time.Second,
		RetryPolicy:            retry(time.Second, time.Minute),
	}
}

// TransferOptions are for activities that move any amount of data and go on
// from their checkpoint: a day for an attempt, no limit to the number of them.
func TransferOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout:    15 * time.Second,
		RetryPolicy:         retry(time.Second, time.Minute),
	}
}

// WaitOptions are for activities that wait inside for something to happen and
// heartbeat every WaitingHeartbeat: they may run for days, and a lost worker is
// noticed within 30 s.
func WaitOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 30 * 24 * time.Hour,
		HeartbeatTimeout:    30 * time.Second,
		WaitForCancellation: true,
		RetryPolicy:         retry(time.Second, 30*time.Second),
	}
}

// TryOptions are for one try of a job whose workflow owns the retries: one
// attempt, from which the workflow learns every end.
func TryOptions(timeout, heartbeat time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: timeout,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	}
}

// retry repeats without a limit to the number: what is not worth repeating says
// so itself, by its error type.
func retry(initial, maximum time.Duration) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: initial, BackoffCoefficient: 2, MaximumInterval: maximum}
}

// StartAttributes are the search attributes of a workflow that is about to be
// started. What goes with the start the workflow need not upsert in its first task,
// which would be an Action and an event more. "" leaves one out.
func StartAttributes(state, kind, target string) temporal.SearchAttributes {
	var updates []temporal.SearchAttributeUpdate
	for _, a := range [][2]string{{wire.AttributeState, state}, {wire.AttributeType, kind}, {wire.AttributeTarget, target}} {
		if a[1] != "" {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(a[0]).ValueSet(a[1]))
		}
	}
	return temporal.NewSearchAttributes(updates...)
}
