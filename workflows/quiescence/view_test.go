package quiescence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// What the Web UI shows of a watch: phase, figures, instants, the last error, what
// followed, and when how much came.
func TestDetailsOfAWatch(t *testing.T) {
	in := defaultInput()
	in.Source = wire.Source{S3: &wire.S3Source{Bucket: "landing"}}
	rule := in.rule(quietStart)
	rule.Deadline = quietStart.Add(time.Hour)
	o := &observer{in: in, rule: rule, asOf: quietStart}
	status := func() Status {
		s, err := o.status()
		require.NoError(t, err)
		return s
	}
	require.Contains(t, o.details(status()), "**WAITING**: waits for the first record of landing")
	require.NotContains(t, o.details(status()), "Arrivals")

	o.state.Observe(o.rule, quiescence.Reading{Version: "a", Count: 7, Present: true}, quietStart, quietStart)
	later := quietStart.Add(30 * time.Second)
	o.state.Fail(o.rule, "S3.ListObjectsV2 landing: SlowDown", later, later)
	o.asOf = later
	text := o.details(status())
	for _, want := range []string{
		"**FLOWING**: landing changes", "- 7 seen, generation 1", "- 0 of 5 unchanged polls, 1 polls, 1 failed",
		"- last change: 2026-01-02 03:00:00 UTC",
		"- deadline: 2026-01-02 04:00:00 UTC", "- last error: S3.ListObjectsV2 landing: SlowDown",
		"Arrivals:\n\n```\n█", "at most 7 in one", "`starter quiescence status`",
	} {
		require.Contains(t, text, want)
	}

	o.over, o.result = true, &Result{Reason: quiescence.ReasonForced, Note: "enough"}
	o.then = outcomesOf(&Result{Then: []ThenResult{{N: 0}, {N: 1, Done: true, OK: true}, {N: 2, Done: true, Error: "answered 404"}, {N: 1, Generation: 2}}})
	text = o.details(status())
	for _, want := range []string{"**DONE**: forced, enough", "- then[0]: under way", "- then[1]: done", "- then[2]: failed: answered 404", "- generation 2, then[1]: under way"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "next poll", "it goes stale: polls go on without the workflow")
}
