package workflows

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/wire"
)

// ResumeSuspendedInput is the input of ResumeSuspended.
type ResumeSuspendedInput struct {
	Holder      string            `json:"holder"` // "": the workflow's own run
	Filter      string            `json:"filter"` // an extra clause of the visibility query
	MaxParallel int               `json:"maxParallel"`
	Lease       duration.Duration `json:"lease"`
	Limit       int               `json:"limit"` // requests at most; 0: all
}

// Check adds what is out of range.
func (in *ResumeSuspendedInput) Check(faults *document.Faults) {
	if in.MaxParallel < 1 || in.MaxParallel > 100 {
		faults.Add("maxParallel", "%d; allowed are 1 to 100", in.MaxParallel)
	}
	if in.Lease <= 0 && !faults.Has("lease") {
		faults.Add("lease", "%v; it has to be longer", in.Lease)
	}
	if in.Limit < 0 {
		faults.Add("limit", "%d; at least 0", in.Limit)
	}
}

// ResumeSuspendedResult tells what became of each request.
type ResumeSuspendedResult struct {
	Resumed []string        `json:"resumed"`
	Skipped []ResumeSkipped `json:"skipped"`
	Failed  []ResumeFailed  `json:"failed"`
}

// ResumeSkipped is a request that another holder has claimed, or ("") that was
// not suspended any more.
type ResumeSkipped struct {
	ID     string `json:"id"`
	Holder string `json:"holder"`
}

// ResumeFailed is a request that could not be resumed.
type ResumeFailed struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// ResumeSuspendedStatus is the status document.
type ResumeSuspendedStatus struct {
	AsOf    time.Time `json:"asOf"`
	State   string    `json:"state"` // OPEN, DONE
	Holder  string    `json:"holder"`
	Total   int       `json:"total"`
	Waiting int       `json:"waiting"`
	Running int       `json:"running"`
	ResumeSuspendedResult
}

// ResumeSuspended resumes the suspended requests that are not jobs of others,
// each claimed first, so that two who do it at once resume each once. A request
// that can't be resumed is reported and stops no other.
//
// Signal: stop ends it between two requests. Query: status. A request costs
// three events.
func ResumeSuspended(ctx workflow.Context, raw json.RawMessage) (*ResumeSuspendedResult, error) {
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
		return nil, s.rollOver(ctx)
	}
	s.state = StateDone
	return &s.result, s.shown.set(ctx, s.state, "", "")
}

// sweep is one run of ResumeSuspended.
type sweep struct {
	in      ResumeSuspendedInput
	holder  string
	state   string
	found   bool
	total   int
	waiting []string
	running []resuming
	result  ResumeSuspendedResult
	signals *inbox
	stopped bool // by the signal
	full    bool // the history: what runs is waited for
	shown   attributes
}

type resuming struct {
	id     string
	future workflow.Future
}

// continuedSweep is the input of a run that goes on from another.
type continuedSweep struct {
	ResumeSuspendedInput
	Carried *carriedSweep `json:"carried,omitempty"`
}

type carriedSweep struct {
	Holder  string                `json:"holder"`
	Total   int                   `json:"total"`
	Waiting []string              `json:"waiting"`
	Result  ResumeSuspendedResult `json:"result"`
}

func newSweep(ctx workflow.Context, raw json.RawMessage) (*sweep, error) {
	info := workflow.GetInfo(ctx)
	in := continuedSweep{ResumeSuspendedInput: ResumeSuspendedInput{MaxParallel: 10, Lease: duration.Duration(5 * time.Minute)}}
	if err := decode(TypeResumeSuspended, raw, inputOf(ctx, &in.ResumeSuspendedInput, &in)); err != nil {
		return nil, err
	}
	s := &sweep{
		in:     in.ResumeSuspendedInput,
		state:  StateOpen,
		result: ResumeSuspendedResult{Resumed: []string{}, Skipped: []ResumeSkipped{}, Failed: []ResumeFailed{}},
	}
	s.signals = newInbox(ctx, SignalStop)
	if c := in.Carried; c != nil {
		s.found, s.holder, s.total, s.waiting, s.result = true, c.Holder, c.Total, c.Waiting, c.Result
	} else if s.holder = s.in.Holder; s.holder == "" {
		s.holder = info.WorkflowExecution.ID + "/" + info.FirstRunID
	}
	if err := s.shown.set(ctx, s.state, TypeResumeSuspended, ""); err != nil {
		return nil, err
	}
	return s, workflow.SetQueryHandler(ctx, QueryStatus, func() (*ResumeSuspendedStatus, error) {
		return &ResumeSuspendedStatus{AsOf: workflow.Now(ctx).UTC(), State: s.state, Holder: s.holder, Total: s.total,
			Waiting: len(s.waiting), Running: len(s.running), ResumeSuspendedResult: s.result}, nil
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
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), wire.ListSuspended,
		wire.ListSuspendedInput{Filter: s.in.Filter, Limit: s.in.Limit}).Get(ctx, &list)
	s.waiting, s.total = list.IDs, len(list.IDs)
	return err
}

// hear takes the signal stop.
func (s *sweep) hear(ctx workflow.Context) {
	s.signals.take(ctx, func(name string, raw json.RawMessage) error {
		err := decode(name, raw, &claimStop{})
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
		s.running = append(s.running, resuming{id, workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options),
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
			s.result.Failed = append(s.result.Failed, ResumeFailed{r.id, firstLine(err.Error())})
		case became.Resumed:
			s.result.Resumed = append(s.result.Resumed, r.id)
		case became.Skipped:
			s.result.Skipped = append(s.result.Skipped, ResumeSkipped{r.id, became.Holder})
		default:
			s.result.Failed = append(s.result.Failed, ResumeFailed{r.id, became.Error})
		}
	}
	s.running = going
}

func (s *sweep) publish(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d suspended requests: %d resumed, %d skipped, %d failed, %d waiting",
		s.total, len(s.result.Resumed), len(s.result.Skipped), len(s.result.Failed), len(s.waiting)))
}

func (s *sweep) rollOver(ctx workflow.Context) error {
	return workflow.NewContinueAsNewError(ctx, TypeResumeSuspended, continuedSweep{s.in,
		&carriedSweep{Holder: s.holder, Total: s.total, Waiting: s.waiting, Result: s.result}})
}
