package quiescence_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"sluice"
	"sluice/activities"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/tests/harness"
)

// scripted stands in for the activities that wait. Each runs until it is cancelled,
// and then ends as the name of its table says; one that was tuned or drains tells
// with which state it began.
type scripted struct{}

// lastState is what an attempt knows and its workflow does not.
var lastState = quiescence.State{Polls: 7, Count: 3, Started: true, Repeats: 5}

const lastMessages = 7

// endOf is the error of an ending, with what the attempt knew; nil is a result.
func endOf(ending string, known any) error {
	switch ending {
	case "result":
		return nil
	case "unavailable":
		return activities.Fail(activities.TypeUnavailable, activities.Failure{Checkpoint: known})
	case "stopping":
		return activities.Fail(activities.TypeWorkerStopping, activities.Failure{Checkpoint: known})
	case "failed":
		return activities.Fail(activities.TypeAccessDenied, activities.Failure{Message: "for good"})
	case "panics":
		panic("as told")
	default:
		return temporal.NewCanceledError(known)
	}
}

// untilCancelled heartbeats until the activity is cancelled. One that is to be lost
// then falls silent until Temporal has given it up.
func untilCancelled(ctx context.Context, ending string, known any) {
	for ctx.Err() == nil {
		activity.RecordHeartbeat(ctx, known)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	if ending == "lost" {
		time.Sleep(activity.GetInfo(ctx).HeartbeatTimeout + 2*time.Second)
	}
}

func (scripted) watch(ctx context.Context, in wire.WatchInput) (wire.WatchReport, error) {
	if in.Rule.Repeats == 2 { // as it was tuned: tell with which state
		return wire.WatchReport{State: in.State, Reason: quiescence.ReasonExpected, At: time.Now()}, nil
	}
	ending := in.Source.DynamoDB.Table
	untilCancelled(ctx, ending, lastState)
	return wire.WatchReport{State: lastState, Reason: quiescence.ReasonQuiet, At: time.Now()}, endOf(ending, lastState)
}

func (scripted) count(ctx context.Context, in wire.CountInput) (wire.CountReport, error) {
	figures := wire.CountFigures{Messages: lastMessages}
	if in.Drain {
		return wire.CountReport{Figures: in.Figures, Drained: true}, nil
	}
	untilCancelled(ctx, in.Table, figures)
	return wire.CountReport{Figures: figures, Drained: true}, endOf(in.Table, figures)
}

func startScripted(t *testing.T, s *harness.Stack) {
	t.Helper()
	var script scripted
	w := worker.New(s.Client, s.TaskQueue, worker.Options{
		MaxHeartbeatThrottleInterval: 100 * time.Millisecond,
		Plugins:                      []worker.Plugin{sluice.Plugin(nil)},
	})
	w.RegisterActivityWithOptions(script.watch, activity.RegisterOptions{Name: wire.WatchQuiescence.Name})
	w.RegisterActivityWithOptions(script.count, activity.RegisterOptions{Name: wire.CountEvents.Name})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

// Whatever the end of an activity that a message interrupted, the message is carried
// out, from what the activity knew. What was decided by the settings before the
// message is decided anew: quiet before `tune`, drained before `stop`.
func TestAMessageIsCarriedOutHoweverTheActivityEnds(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	startScripted(t, s)
	known := map[string]bool{"cancelled": true, "result": true, "unavailable": true, "stopping": true, "lost": true, "failed": false, "panics": false}
	for ending, kept := range known {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			source := fmt.Sprintf(`{"source":{"dynamodb":{"table":%q,"key":{"id":{"S":"k"}}}},"repeats":1000,"delay":{"base":"1s"}}`, ending)
			runs := map[string]client.WorkflowRun{}
			for _, message := range []string{"tune", "finish", "stop"} {
				runs[message] = watch(t, s, s.Name(message), source)
			}
			counts := map[string]client.WorkflowRun{}
			for _, message := range []string{"stop", "drain"} {
				counts[message] = monitor(t, s, "http://127.0.0.1/queue", ending, "")
			}
			// Each has begun, so that the cancel finds it at work.
			for _, run := range []client.WorkflowRun{runs["tune"], runs["finish"], runs["stop"], counts["stop"], counts["drain"]} {
				awaitHeartbeat(t, s, run.GetID())
			}
			tellAll(t, s, runs, counts)
			for message, reason := range map[string]string{"tune": "expected", "finish": "forced", "stop": "stopped"} {
				r := resultOf(t, runs[message])
				require.Equal(t, reason, r.Reason, message)
				if kept {
					require.Equal(t, lastState.Polls, r.Polls, message)
					require.Equal(t, lastState.Count, r.Count, message)
				}
			}
			for message, state := range map[string]string{"stop": "STOPPED", "drain": "DONE"} {
				var st countStatus
				require.NoError(t, counts[message].Get(t.Context(), &st), message)
				require.Equal(t, state, st.State, message)
				if kept {
					require.EqualValues(t, lastMessages, st.Messages, message)
				}
			}
		})
	}
}

// awaitHeartbeat waits until a workflow's activity has heartbeat.
func awaitHeartbeat(t *testing.T, s *harness.Stack, id string) {
	t.Helper()
	harness.Await(t, id+" heartbeats", func(ctx context.Context) error {
		described, err := s.Client.DescribeWorkflow(ctx, id, "")
		if err != nil {
			return err
		}
		for _, a := range described.RawResponse.GetPendingActivities() {
			if a.GetHeartbeatDetails() != nil {
				return nil
			}
		}
		return errors.New("no heartbeat")
	})
}
