package quiescence

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// show tells the Web UI and visibility where the watch stands.
func (o *observer) show(ctx workflow.Context) error {
	status, err := o.status()
	if err != nil {
		return err
	}
	shell.ShowDetails(ctx, status.AsOf, o.trouble(ctx), o.details(status))
	return o.shown.Show(ctx, shell.Shown{State: status.Phase, Type: wire.TypeQuiescence, Target: o.in.Source.Target(), Trouble: o.trouble(ctx), Ended: o.over})
}

// trouble is why the target can't be polled, or nobody polls it.
func (o *observer) trouble(ctx workflow.Context) shell.Trouble {
	switch t := o.state.Trouble(); {
	case o.over:
		return shell.Trouble{}
	case t.Type != "":
		return t
	default:
		return shell.OrHeard(ctx, o.polling.Trouble())
	}
}

// details is the status in words, as Markdown.
func (o *observer) details(s Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**: %s\n\n", s.Phase, o.words(s))
	fmt.Fprintf(&b, "- %d seen, generation %d\n", s.Count, s.Generation)
	fmt.Fprintf(&b, "- %d of %d unchanged polls, %d polls, %d failed\n", s.Repeats, s.RepeatsNeeded, s.Polls, s.FailedPolls)
	for _, line := range []struct {
		what string
		at   *time.Time
	}{{"last change", s.LastChangeAt}, {"deadline", shell.TimeOrNil(o.rule.Deadline)}} {
		if line.at != nil {
			fmt.Fprintf(&b, "- %s: %s\n", line.what, line.at.UTC().Format("2006-01-02 15:04:05 UTC"))
		}
	}
	if s.LastError != "" {
		fmt.Fprintf(&b, "- last error: %s\n", s.LastError)
	}
	if s.Result != nil {
		for _, then := range s.Result.Then {
			fmt.Fprintf(&b, "- %s: %s\n", then.Name(), then.words())
		}
	}
	if chart := o.state.Arrivals.Chart(s.AsOf); chart != "" {
		fmt.Fprintf(&b, "\nArrivals:\n\n```\n%s\n```\n", chart)
	}
	if s.Phase != quiescence.Done {
		b.WriteString("\n`starter quiescence status` shows the polls since.\n")
	}
	return b.String()
}

func (o *observer) words(s Status) string {
	switch {
	case s.Phase == quiescence.Done && !o.ends():
		return fmt.Sprintf("%s; watches for late data until %s", s.Result.Reason, o.lateUntil.Format("15:04:05 UTC"))
	case s.Phase == quiescence.Done && s.Result != nil:
		return strings.TrimSuffix(s.Result.Reason+", "+s.Result.Note, ", ")
	case s.Phase == quiescence.Waiting:
		return "waits for the first record of " + o.in.Source.Target()
	case s.Phase == quiescence.Flowing:
		return o.in.Source.Target() + " changes"
	default:
		return o.in.Source.Target() + " stands still"
	}
}

// Name is the entry in words.
func (r ThenResult) Name() string {
	if r.Generation > 1 {
		return fmt.Sprintf("generation %d, then[%d]", r.Generation, r.N)
	}
	return fmt.Sprintf("then[%d]", r.N)
}

func (r ThenResult) words() string {
	switch {
	case !r.Done:
		return "under way"
	case r.OK:
		return "done"
	default:
		return "failed: " + r.Error
	}
}

// Result is how a generation ended.
type Result struct {
	Reason       string     `json:"reason"`
	Note         string     `json:"note,omitempty"` // the words of `finish` or `stop`
	Count        int64      `json:"count"`
	Polls        int64      `json:"polls"`
	FailedPolls  int64      `json:"failedPolls"`
	LastError    string     `json:"lastError,omitempty"` // of the last poll, where that failed
	FirstAt      *time.Time `json:"firstAt"`
	LastChangeAt *time.Time `json:"lastChangeAt"`
	FinishedAt   time.Time  `json:"finishedAt"`
	Generation   int        `json:"generation"`
	Late         bool       `json:"late"`
	// Then has the entries of every generation, oldest first.
	Then []ThenResult `json:"then"`
	// ThenOmitted counts those of many that are no longer told one by one, first of
	// all ones that went well.
	ThenOmitted int `json:"thenOmitted,omitempty"`
}

// Status is the answer to the query `status` and to the updates.
type Status struct {
	AsOf          time.Time      `json:"asOf"`
	Phase         string         `json:"phase"`
	Count         int64          `json:"count"`
	Repeats       int            `json:"repeats"`
	RepeatsNeeded int            `json:"repeatsNeeded"`
	Polls         int64          `json:"polls"`
	FailedPolls   int64          `json:"failedPolls"`
	LastChangeAt  *time.Time     `json:"lastChangeAt"`
	NextPollAt    *time.Time     `json:"nextPollAt"`
	QuietAt       *time.Time     `json:"quietAt"`
	Generation    int            `json:"generation"`
	LastError     string         `json:"lastError,omitempty"`
	Trouble       *shell.Trouble `json:"trouble"`
	Result        *Result        `json:"result"`
}

func (o *observer) status() (Status, error) {
	phase := o.state.Phase()
	if o.ends() {
		phase = quiescence.Done
	}
	return Status{
		AsOf:          o.asOf,
		Phase:         phase,
		Count:         o.state.Count,
		Repeats:       o.state.Repeats,
		RepeatsNeeded: o.rule.Repeats,
		Polls:         o.state.Polls,
		FailedPolls:   o.state.FailedPolls,
		LastChangeAt:  shell.TimeOrNil(o.state.LastChangeAt),
		NextPollAt:    o.unlessOver(o.state.NextPollAt),
		QuietAt:       o.unlessOver(o.state.QuietAt(o.rule)),
		Generation:    max(o.state.Generation, 1),
		LastError:     o.state.LastError,
		Trouble:       o.trouble(o.ctx).OrNil(),
		Result:        o.outcome(),
	}, nil
}

// ends says that the watch is over, or will be once the polling activity has handed
// back what it saw.
func (o *observer) ends() bool { return o.over || o.ending.reason != "" }

// outcome is the result of the last generation, or of the one that a message ends.
func (o *observer) outcome() *Result {
	switch {
	case o.ending.reason != "" && !o.state.Idle:
		result := o.endedBy(o.ending.reason, o.ending.at)
		planned := o.planned(result)
		for i := range planned {
			if o.ending.stopped {
				planned[i].Done, planned[i].Error = true, cancelledByStop
			}
		}
		return o.then.in(*result, planned)
	case o.result != nil:
		return o.then.in(*o.result, nil)
	default:
		return nil
	}
}

func (o *observer) unlessOver(t time.Time) *time.Time {
	if o.ends() {
		return nil
	}
	return shell.TimeOrNil(t)
}

// sourceDocument is the source as it was given, for the body of `then` entries.
func sourceDocument(s wire.Source) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil { // not reached: it was read from JSON
		return json.RawMessage(fmt.Sprintf("%q", s.Target()))
	}
	return raw
}
