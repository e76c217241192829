package resumer

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Workflow resumes the suspended requests that are not jobs of others,
// each claimed first, so that two who do it at once resume each once. A request
// that can't be resumed is reported and stops no other.
//
// Signal: stop ends it between two requests. Query: status. A request costs
// three events.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*Result, error) {
	s, err := newSweep(ctx, raw)
	if err != nil {
		return nil, err
	}
	if err := s.find(ctx); err != nil {
		return nil, err
	}
	for {
		s.hear(ctx)
		s.start(ctx)
		s.publish(ctx)
		if len(s.running) == 0 {
			break
		}
		if err := workflow.Await(ctx, s.due); err != nil {
			return nil, err
		}
		s.collect(ctx)
	}
	if s.full && len(s.waiting) > 0 && !s.stopped {
		if ctx.Err() != nil { // came with the last result
			return nil, ctx.Err()
		}
		return nil, s.rollOver(ctx)
	}
	s.state = wire.StateDone
	return &s.result, s.shown.Set(ctx, s.state, "", "")
}

// sweep is one run of ResumeSuspended.
type sweep struct {
	in      Input
	holder  string
	state   string
	found   bool
	total   int
	waiting []string
	running []resuming
	result  Result
	signals *shell.Inbox
	stopped bool // by the signal
	full    bool // the history: what runs is waited for
	shown   shell.Attributes
}

type resuming struct {
	id     string
	future *shell.Future[wire.Resumed]
}

func newSweep(ctx workflow.Context, raw json.RawMessage) (*sweep, error) {
	info := workflow.GetInfo(ctx)
	in := continued{Input: Input{MaxParallel: 10, Lease: duration.Duration(5 * time.Minute)}}
	if err := shell.Decode(wire.TypeResumeSuspended, raw, shell.InputOf(ctx, &in.Input, &in)); err != nil {
		return nil, err
	}
	s := &sweep{
		in:     in.Input,
		state:  wire.StateOpen,
		result: Result{Resumed: []string{}, Skipped: []Skipped{}, Failed: []Failed{}},
	}
	s.signals = shell.NewInbox(ctx, wire.SignalStop)
	if c := in.Carried; c != nil {
		s.found, s.holder, s.total, s.waiting, s.result = true, c.Holder, c.Total, c.Waiting, c.Result
	} else if s.holder = s.in.Holder; s.holder == "" {
		s.holder = info.WorkflowExecution.ID + "/" + info.FirstRunID
	}
	if err := s.shown.Set(ctx, s.state, wire.TypeResumeSuspended, ""); err != nil {
		return nil, err
	}
	return s, workflow.SetQueryHandler(ctx, wire.QueryStatus, func() (*Status, error) {
		return &Status{AsOf: workflow.Now(ctx).UTC(), State: s.state, Holder: s.holder, Total: s.total,
			Waiting: len(s.waiting), Running: len(s.running), Result: s.result}, nil
	})
}

// find lists the requests, unless an earlier run did.
func (s *sweep) find(ctx workflow.Context) error {
	if s.found {
		return nil
	}
	options := activities.CallOptions()
	options.Summary = "list suspended requests"
	var list wire.Suspended
	err := shell.Execute(workflow.WithActivityOptions(ctx, options), wire.ListSuspended,
		wire.ListSuspendedInput{Filter: s.in.Filter, Limit: s.in.Limit}).Get(ctx, &list)
	s.waiting, s.total = list.IDs, len(list.IDs)
	return err
}

// hear takes the signal stop.
func (s *sweep) hear(ctx workflow.Context) {
	s.signals.Take(ctx, func(name string, raw json.RawMessage) error {
		err := shell.Decode(name, raw, &wire.StopInput{})
		s.stopped = s.stopped || err == nil
		return err
	})
}

// start begins with as many requests as may be resumed at once.
func (s *sweep) start(ctx workflow.Context) {
	s.full = s.full || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
	for len(s.waiting) > 0 && len(s.running) < s.in.MaxParallel && !s.stopped && !s.full {
		id := s.waiting[0]
		s.waiting = s.waiting[1:]
		options := activities.CallOptions()
		options.ScheduleToCloseTimeout = 5 * time.Minute
		options.Summary = "resume " + id
		s.running = append(s.running, resuming{id, shell.Execute(workflow.WithActivityOptions(ctx, options),
			wire.ResumeRequest, wire.ResumeInput{ID: id, Holder: s.holder, Lease: s.in.Lease})})
	}
}

func (s *sweep) due() bool {
	for _, r := range s.running {
		if r.future.IsReady() {
			return true
		}
	}
	return false
}

// collect takes the results that are there.
func (s *sweep) collect(ctx workflow.Context) {
	going := s.running[:0]
	for _, r := range s.running {
		if !r.future.IsReady() {
			going = append(going, r)
			continue
		}
		var became wire.Resumed
		err := r.future.Get(ctx, &became)
		switch {
		case err != nil:
			s.result.Failed = append(s.result.Failed, Failed{r.id, shell.FirstLine(err.Error())})
		case became.Resumed:
			s.result.Resumed = append(s.result.Resumed, r.id)
		case became.Skipped:
			s.result.Skipped = append(s.result.Skipped, Skipped{r.id, became.Holder})
		default:
			s.result.Failed = append(s.result.Failed, Failed{r.id, became.Error})
		}
	}
	s.running = going
}
