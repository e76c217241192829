// Package rollover_test runs the workflows on a server that calls twenty events a
// long history, so that they continue as new again and again while several
// senders send them every message that they have. Nothing may be lost.
package rollover_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"sluice/activities"
	"sluice/tests/harness"
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, "--demo", "--dynamic", "limit.historyCount.suggestContinueAsNew=20"))
}

// target is a workflow that messages are sent to.
type target struct {
	*harness.Stack
	t     *testing.T
	id    string
	first string // its first run
}

// start starts a workflow on the stack's worker.
func start(t *testing.T, s *harness.Stack, kind, id, document string) *target {
	t.Helper()
	run, err := s.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: s.TaskQueue}, kind, json.RawMessage(document))
	require.NoError(t, err)
	return &target{s, t, id, run.GetRunID()}
}

// A message is one of a workflow, and in which way it is sent.
type message struct {
	name, input string
	signal      bool
}

// send sends a message and reads the answer of an update into answer.
func (g *target) send(m message, answer any) error {
	ctx, cancel := patient(g.t)
	defer cancel()
	if m.signal {
		return g.Client.SignalWorkflow(ctx, g.id, "", m.name, json.RawMessage(m.input))
	}
	handle, err := g.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: g.id, UpdateName: m.name, Args: []any{json.RawMessage(m.input)}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, answer)
}

// must is send of a message that is not refused.
func (g *target) must(m message, answer any) {
	g.t.Helper()
	require.NoError(g.t, g.send(m, answer), "%+v", m)
}

// patient bounds what only a hanging program takes.
func patient(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 2*time.Minute)
}

// status reads the status document.
func (g *target) status(into any) error {
	ctx, cancel := patient(g.t)
	defer cancel()
	value, err := g.Client.QueryWorkflow(ctx, g.id, "", "status")
	if err != nil {
		return err
	}
	return value.Get(into)
}

// result waits for the end and reads the result.
func (g *target) result(into any) {
	g.t.Helper()
	ctx, cancel := patient(g.t)
	defer cancel()
	require.NoError(g.t, g.Client.GetWorkflow(ctx, g.id, "").Get(ctx, into))
}

// runs are the histories of all runs, the first first.
func (g *target) runs() (runs [][]*historypb.HistoryEvent) {
	g.t.Helper()
	ctx, cancel := patient(g.t)
	defer cancel()
	for id := g.first; id != ""; {
		var run []*historypb.HistoryEvent
		events := g.Client.GetWorkflowHistory(ctx, g.id, id, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(g.t, err)
			run = append(run, event)
		}
		runs = append(runs, run)
		id = run[len(run)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return runs
}

// storm has senders send, again and again until the workflow has continued as new
// so often, and tells how many times that was.
func (g *target) storm(rolls int, senders ...func()) (times int) {
	g.t.Helper()
	harness.Await(g.t, g.id+" continues as new", func(context.Context) error {
		if n := len(g.runs()); n > rolls || g.t.Failed() {
			return nil
		}
		atOnce(senders...)
		times++
		return errors.New("not yet")
	})
	return times
}

// arrived are the messages that the server has taken in, in order.
func (g *target) arrived() (messages []message) {
	g.t.Helper()
	for _, run := range g.runs() {
		for _, event := range run {
			if signal := event.GetWorkflowExecutionSignaledEventAttributes(); signal != nil {
				messages = append(messages, message{signal.GetSignalName(), inputOf(g.t, signal.GetInput()), true})
			}
			if update := event.GetWorkflowExecutionUpdateAcceptedEventAttributes(); update != nil {
				in := update.GetAcceptedRequest().GetInput()
				messages = append(messages, message{in.GetName(), inputOf(g.t, in.GetArgs()), false})
			}
		}
	}
	return messages
}

func inputOf(t *testing.T, payloads *commonpb.Payloads) string {
	t.Helper()
	var raw json.RawMessage
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(payloads, &raw))
	return string(raw)
}

// atOnce runs senders beside each other until all have sent what they have.
func atOnce(senders ...func()) {
	var wg sync.WaitGroup
	for _, send := range senders {
		wg.Go(send)
	}
	wg.Wait()
}

// pause lets the senders drift apart, so that messages come at every moment of a
// roll-over.
func pause() { time.Sleep(rand.N(30 * time.Millisecond)) }

// await waits until the status is as wanted.
func await[S any](g *target, what string, wanted func(S) bool) (last S) {
	g.t.Helper()
	harness.Await(g.t, g.id+": "+what, func(context.Context) error {
		var s S
		if err := g.status(&s); err != nil {
			return err
		}
		if last = s; !wanted(s) {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	return last
}

// refused tells that the state did not allow a message.
func refused(err error) bool { return activities.TypeOf(err) == activities.TypeConflict }
