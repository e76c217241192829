package countobjects

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// States of CountObjects.
const (
	countOpen     = wire.StateOpen
	countDraining = "DRAINING"
	countStopped  = "STOPPED"
)

// Workflow counts the objects that S3 event notifications on an SQS queue
// announce, exactly, in items of a DynamoDB table (counting.Activities). Input:
// Input. ID: wire.CountID. It ends only when told to, with its status.
//
// Messages: updates `stop` {} (ends after the batch under way; answered at once) and `drain`
// {"wait":"30s"} (counts until a poll finds nothing, then ends), both answering the
// status; query `status`. Ingestions that share it join and leave; one that an
// ingestion started ends with the last.
//
// History: six events for the start and the end, seven for a report of the counting
// activity, of which there are at most thirteen a day however much is counted, and
// it continues as new, so it is bounded for ever.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*Status, error) {
	in := continued{Input: defaultInput()}
	if err := shell.DecodeInput(ctx, wire.TypeCountObjects, raw, &in.Input, &in); err != nil {
		return nil, err
	}
	m := &monitor{ctx: ctx, in: in.Input, state: countOpen, asOf: workflow.Now(ctx).UTC()}
	if c := in.Carried; c != nil {
		m.figures, m.state, m.holders = c.Figures, c.State, c.Holders
	}
	show := func(ctx workflow.Context) { _ = m.show(ctx) } // fails only where another does, which is told
	m.counting.Mended = show
	shell.Hear(ctx, show)
	if err := m.listen(ctx); err != nil {
		return nil, err
	}
	return m.run(ctx)
}

// monitor is a run of CountObjects.
type monitor struct {
	ctx      workflow.Context
	in       Input
	state    string
	figures  wire.CountFigures
	holders  []string // ingestions that need it
	asOf     time.Time
	over     bool
	shown    shell.Attributes
	next     shell.RollOver
	counting shell.Waiting // the counting activity
}

func (m *monitor) run(ctx workflow.Context) (*Status, error) {
	for !m.over {
		if err := m.show(ctx); err != nil {
			return nil, err
		}
		if err := m.count(ctx); err != nil {
			return nil, err
		}
		for !m.over && workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) {
			if now, err := m.next.Now(ctx); err != nil {
				return nil, err
			} else if now {
				return nil, m.continueAsNew(ctx)
			}
		}
	}
	if err := m.show(ctx); err != nil {
		return nil, err
	}
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return nil, err
	}
	status, err := m.status()
	return &status, err
}

// count has the activity count until it reports or is interrupted.
func (m *monitor) count(ctx workflow.Context) error {
	if m.state == countStopped {
		m.over = true
		return nil
	}
	options := activities.WaitOptions()
	options.HeartbeatTimeout = activities.SpacedTimeout(m.figures.Spacing.Std())
	options.Summary = "counts the events of " + queueOf(m.in.QueueURL)
	end, err := shell.Wait[wire.CountFigures](ctx, &m.counting, options, wire.CountEvents, wire.CountInput{
		QueueURL: m.in.QueueURL, Table: m.in.Table, PrefixDepth: m.in.depth(),
		Drain: m.state == countDraining, Figures: m.figures,
	})
	switch {
	case err != nil:
		return err
	case end.Result != nil:
		m.figures = end.Result.Figures
		// A stop that came meanwhile overrules a drain that was done by then.
		if end.Result.Drained && !end.Interrupted {
			m.state, m.over = wire.StateDone, true
		}
	case end.Left != nil:
		m.figures = *end.Left
	}
	m.asOf = workflow.Now(ctx).UTC()
	m.over = m.over || m.state == countStopped
	return nil
}
