package workflows

import (
	"encoding/json"
	"fmt"
	"time"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// QuiescenceInput starts a watch.
type QuiescenceInput struct {
	Source wire.Source `json:"source" doc:"required"`
	quiescenceRule
	StartTimeout duration.Duration `json:"startTimeout"`
	Late         LateWatch         `json:"late"`
	Then         []Then            `json:"then"`
}

// continuedQuiescence is the input of a run that goes on from another.
type continuedQuiescence struct {
	QuiescenceInput
	Carried *quiescenceCarried `json:"carried,omitempty"`
}

// quiescenceRule is the part of the input that `tune` takes as well.
type quiescenceRule struct {
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

// quiescenceCarried is what a run hands to the next one: a few kilobytes.
type quiescenceCarried struct {
	StartBy   time.Time         `json:"startBy,omitzero"`
	LateUntil time.Time         `json:"lateUntil,omitzero"`
	State     quiescence.State  `json:"state"`
	Result    *QuiescenceResult `json:"result,omitempty"`
	Total     int64             `json:"total,omitempty"` // of the signal source
}

func defaultQuiescenceInput() QuiescenceInput {
	rule := quiescence.DefaultRule()
	return QuiescenceInput{quiescenceRule: quiescenceRule{Repeats: rule.Repeats, Delay: rule.Delay, MinRecords: rule.MinRecords}}
}

// Check adds what is wrong with the values.
func (in *QuiescenceInput) Check(faults *document.Faults) {
	in.Source.Check(faults, "source")
	in.quiescenceRule.Check(faults)
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

// Check adds what is wrong with the rule.
func (r *quiescenceRule) Check(faults *document.Faults) { r.rule(time.Time{}).Check(faults) }

// rule is the rule as of now: a deadline given as a length counts from there.
func (r *quiescenceRule) rule(now time.Time) quiescence.Rule {
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
func (r *quiescenceRule) fix(now time.Time) {
	if at := r.Deadline.Time(now); !at.IsZero() {
		r.Deadline = duration.DeadlineAt(at)
	}
}

// QuiescenceResult is how a generation ended.
type QuiescenceResult struct {
	Reason       string       `json:"reason"`
	Note         string       `json:"note,omitempty"` // the words of `finish` or `stop`
	Count        int64        `json:"count"`
	Polls        int64        `json:"polls"`
	FailedPolls  int64        `json:"failedPolls"`
	FirstAt      *time.Time   `json:"firstAt"`
	LastChangeAt *time.Time   `json:"lastChangeAt"`
	FinishedAt   time.Time    `json:"finishedAt"`
	Generation   int          `json:"generation"`
	Late         bool         `json:"late"`
	Then         []ThenResult `json:"then"`
}

// QuiescenceStatus is the answer to the query `status` and to the updates.
type QuiescenceStatus struct {
	AsOf          time.Time         `json:"asOf"`
	Phase         string            `json:"phase"`
	Count         int64             `json:"count"`
	Repeats       int               `json:"repeats"`
	RepeatsNeeded int               `json:"repeatsNeeded"`
	Polls         int64             `json:"polls"`
	FailedPolls   int64             `json:"failedPolls"`
	LastChangeAt  *time.Time        `json:"lastChangeAt"`
	NextPollAt    *time.Time        `json:"nextPollAt"`
	QuietAt       *time.Time        `json:"quietAt"`
	Generation    int               `json:"generation"`
	LastError     string            `json:"lastError,omitempty"`
	Result        *QuiescenceResult `json:"result"`
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

// moment is t as a document has it: null where there is none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// sourceDocument is the source as it was given, for the body of `then` entries.
func sourceDocument(s wire.Source) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil { // not reached: it was read from JSON
		return json.RawMessage(fmt.Sprintf("%q", s.Target()))
	}
	return raw
}
