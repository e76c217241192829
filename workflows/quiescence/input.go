package quiescence

import (
	"encoding/json"
	"time"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/limits"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Input starts a watch.
type Input struct {
	Source wire.Source `json:"source" doc:"required"`
	ruleInput
	StartTimeout duration.Duration `json:"startTimeout"`
	Late         LateWatch         `json:"late"`
	Then         []Then            `json:"then"`
}

// ruleInput is the part of the input that `tune` takes as well.
type ruleInput struct {
	Repeats    int               `json:"repeats"`
	Delay      quiescence.Delay  `json:"delay"`
	QuietFor   duration.Duration `json:"quietFor"`
	MinRecords int64             `json:"minRecords"`
	Expected   int64             `json:"expected"`
	Deadline   duration.Deadline `json:"deadline"`
}

// LateWatch says for how long to watch on after the first quiet.
type LateWatch struct {
	Watch duration.Duration `json:"watch"`
}

func defaultInput() Input {
	rule := quiescence.DefaultRule()
	return Input{ruleInput: ruleInput{Repeats: rule.Repeats, Delay: rule.Delay, MinRecords: rule.MinRecords}}
}

// CheckInput tells what is wrong with the input of a new run of that ID, as the run
// would.
func CheckInput(id string, raw json.RawMessage) error {
	in := defaultInput()
	return shell.CheckInput(wire.TypeQuiescence, id, raw, &in)
}

// Check adds what is wrong with the values.
func (in *Input) Check(faults *document.Faults) {
	in.Source.Check(faults, "source")
	in.ruleInput.Check(faults)
	if in.Source.SQS != nil && in.Expected > 0 {
		faults.Add("expected", "a backlog has no total to expect")
	}
	if len(in.Then) > mostThen {
		faults.Add("then", "%d entries, at most %d", len(in.Then), mostThen)
		return
	}
	for i := range in.Then {
		in.Then[i].check(faults, document.Index("then", i))
	}
}

// CheckID sees to it that the IDs fit that are made of the watch's own: those of its
// polls, and of what its entries start.
func (in *Input) CheckID(faults *document.Faults, id string) {
	suffix := ""
	if in.Source.Activity != nil {
		suffix = wire.PollID("")
	}
	if len(in.Then) > 0 {
		suffix = idempotencyKey("", limits.MostNumber, mostThen)
	}
	limits.CheckID(faults, "workflow ID", id, suffix)
}

// Check adds what is wrong with the rule.
func (r *ruleInput) Check(faults *document.Faults) { r.rule(time.Time{}).Check(faults) }

// rule is the rule as of now: a deadline given as a length counts from there.
func (r *ruleInput) rule(now time.Time) quiescence.Rule {
	return quiescence.Rule{
		Repeats:    r.Repeats,
		Delay:      r.Delay,
		QuietFor:   r.QuietFor,
		MinRecords: r.MinRecords,
		Expected:   r.Expected,
		Deadline:   r.Deadline.Time(now),
	}
}

// fix turns a deadline that is a length from now into the instant, so that it is
// the same wherever it is read later.
func (r *ruleInput) fix(now time.Time) {
	if at := r.Deadline.Time(now); !at.IsZero() {
		r.Deadline = duration.DeadlineAt(at)
	}
}

// observed is the payload of the signal of that name: so many more, or so many
// in all.
type observed struct {
	Count *int64 `json:"count"`
	Total *int64 `json:"total"`
}

// Check adds what is wrong with the values.
func (o *observed) Check(faults *document.Faults) {
	if (o.Count == nil) == (o.Total == nil) {
		faults.Add("", `either {"count":n} more or {"total":n}`)
	}
	if o.Count != nil && *o.Count < 0 {
		faults.Add("count", "%d is negative", *o.Count)
	}
	if o.Total != nil && *o.Total < 0 {
		faults.Add("total", "%d is negative", *o.Total)
	}
}

// finishInput is the input of `finish` and `stop`.
type finishInput struct {
	Reason string `json:"reason"`
}
