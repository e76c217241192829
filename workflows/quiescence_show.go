package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/quiescence"
)

// show tells the Web UI and visibility where the watch stands.
func (o *observer) show(ctx workflow.Context) error {
	status, err := o.status()
	if err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, o.details(status))
	return o.shown.set(ctx, status.Phase, TypeQuiescence, o.in.Source.Target())
}

// details is the status in words, as Markdown.
func (o *observer) details(s QuiescenceStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**: %s\n\n", s.Phase, o.words(s))
	fmt.Fprintf(&b, "- %d seen, generation %d\n", s.Count, s.Generation)
	fmt.Fprintf(&b, "- %d of %d unchanged polls, %d polls, %d failed\n", s.Repeats, s.RepeatsNeeded, s.Polls, s.FailedPolls)
	for _, line := range []struct {
		what string
		at   *time.Time
	}{{"last change", s.LastChangeAt}, {"next poll", s.NextPollAt}, {"quiet at the earliest", s.QuietAt}, {"deadline", moment(o.rule.Deadline)}} {
		if line.at != nil {
			fmt.Fprintf(&b, "- %s: %s\n", line.what, line.at.UTC().Format("2006-01-02 15:04:05 UTC"))
		}
	}
	if s.LastError != "" {
		fmt.Fprintf(&b, "- last error: %s\n", s.LastError)
	}
	if s.Result != nil {
		for _, then := range s.Result.Then {
			fmt.Fprintf(&b, "- then[%d]: %s\n", then.N, then.words())
		}
	}
	if chart := o.state.Arrivals.Chart(s.AsOf); chart != "" {
		fmt.Fprintf(&b, "\nArrivals:\n\n```\n%s\n```\n", chart)
	}
	if s.Phase != quiescence.Done {
		fmt.Fprintf(&b, "\nAs of %s; `starter quiescence status` shows the polls since.\n", s.AsOf.UTC().Format("15:04:05 UTC"))
	}
	return b.String()
}

func (o *observer) words(s QuiescenceStatus) string {
	switch {
	case s.Phase == quiescence.Done && !o.over:
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
