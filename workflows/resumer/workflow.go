package resumer

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Workflow resumes the suspended requests that are not jobs of others,
// each claimed first, so that two who do it at once resume each once. A request
// that can't be resumed is reported and stops no other.
//
// Signal: stop ends it between two requests. Query: status. A request costs
// three events. One that finds nothing, as nearly all of a Schedule's do, sets no
// search attributes if it was started with those of its end.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*Result, error) {
	s, err := newSweep(ctx, raw)
	if err != nil {
		return nil, err
	}
	if err := s.find(ctx); err != nil {
		return nil, err
	}
	for {
		s.inbox.Take(ctx)
		s.start(ctx)
		s.publish(ctx)
		if len(s.running) == 0 {
			// What did not fit into one list is listed as long as that helps.
			if s.full || s.stopped || len(s.waiting) > 0 || s.result.Left == 0 || !s.progress || s.total == s.in.Limit {
				break
			}
			s.found = false
			if err := s.find(ctx); err != nil {
				return nil, err
			}
			continue
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
	return &s.result, s.show(ctx)
}

// sweep is one run of ResumeSuspended.
type sweep struct {
	in       Input
	holder   string
	state    string
	found    bool
	total    int
	waiting  []string
	running  []resuming
	result   Result
	inbox    shell.Inbox
	bytes    int  // of result, as JSON
	progress bool // a request of the present list was resumed
	stopped  bool // by the signal
	full     bool // the history: what runs is waited for
	shown    shell.Attributes
}

type resuming struct {
	id     string
	future *shell.Future[wire.Resumed]
}

func newSweep(ctx workflow.Context, raw json.RawMessage) (*sweep, error) {
	info := workflow.GetInfo(ctx)
	in := continued{Input: defaultInput()}
	if err := shell.DecodeInput(ctx, wire.TypeResumeSuspended, raw, &in.Input, &in); err != nil {
		return nil, err
	}
	s := &sweep{
		in:     in.Input,
		state:  wire.StateOpen,
		result: Result{Resumed: []string{}, Skipped: []Skipped{}, Failed: []Failed{}},
	}
	if c := in.Carried; c != nil {
		s.found, s.holder, s.total, s.waiting, s.result = true, c.Holder, c.Total, c.Waiting, c.Result
		s.bytes, s.progress = c.Bytes, c.Progress
	} else if s.holder = s.in.Holder; s.holder == "" {
		s.holder = ownHolder(info)
	}
	s.shown = shell.Given(ctx)
	if s.found {
		if err := s.show(ctx); err != nil {
			return nil, err
		}
	}
	shell.Hear(ctx, s.publish)
	return s, s.listen(ctx)
}

// ownHolder is the holder of a sweep that is given none: its run, which ends the name
// where the ID is so long that not all of it fits.
func ownHolder(info *workflow.Info) string {
	id := info.WorkflowExecution.ID
	if room := jobchain.MaxHolder - len(info.FirstRunID) - 1; len(id) > room {
		id = strings.ToValidUTF8(id[:room], "")
	}
	return id + "/" + info.FirstRunID
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
		wire.ListSuspendedInput{Filter: s.in.Filter, Limit: max(s.in.Limit-s.total, 0)}).Get(ctx, &list)
	failed := make(map[string]bool, len(s.result.Failed))
	for _, f := range s.result.Failed {
		failed[f.ID] = true
	}
	s.waiting = slices.DeleteFunc(list.IDs, func(id string) bool { return failed[id] })
	s.total += len(s.waiting)
	s.found, s.progress, s.result.Left = true, false, list.Left
	if err != nil || len(s.waiting) == 0 {
		return err
	}
	return s.show(ctx)
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
		if err != nil {
			became = wire.Resumed{Error: shell.FirstLine(err.Error())}
		}
		s.note(r.id, became)
	}
	s.running = going
}
