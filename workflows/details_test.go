package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/quiescence"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// What the Web UI shows of a watch: phase, figures, instants, the last error, what
// followed, and when how much came.
func TestDetailsOfAWatch(t *testing.T) {
	in := defaultQuiescenceInput()
	in.Source = wire.Source{S3: &wire.S3Source{Bucket: "landing"}}
	rule := in.rule(quietStart)
	rule.Deadline = quietStart.Add(time.Hour)
	o := &observer{in: in, rule: rule, asOf: quietStart}
	status := func() QuiescenceStatus {
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
		"- last change: 2026-01-02 03:00:00 UTC", "- next poll: 2026-01-02 03:01:00 UTC", "- quiet at the earliest: ",
		"- deadline: 2026-01-02 04:00:00 UTC", "- last error: S3.ListObjectsV2 landing: SlowDown",
		"Arrivals:\n\n```\n█", "at most 7 in one", "`starter quiescence status`",
	} {
		require.Contains(t, text, want)
	}

	o.over, o.result = true, &QuiescenceResult{Reason: quiescence.ReasonForced, Note: "enough",
		Then: []ThenResult{{N: 0}, {N: 1, Done: true, OK: true}, {N: 2, Done: true, Error: "answered 404"}}}
	text = o.details(status())
	for _, want := range []string{"**DONE**: forced, enough", "- then[0]: under way", "- then[1]: done", "- then[2]: failed: answered 404"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "As of")
}

// What the Web UI shows of a claimer: slots, counts, each queue with its last error, why it ends.
func TestDetailsOfAClaimer(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	s := newClaimState(10, at)
	s.report(wire.PollReport{
		Started: []wire.StartedTask{started(1), started(2)}, Poisoned: 1, Excused: 3,
		Queues: []wire.QueueState{{Name: "high", Visible: 4, Approximate: 9}, {Name: "low", Errors: 2, LastError: "AzureQueue.Receive: HTTP 404 QueueNotFound"}},
		Carry:  wire.PollCarry{Credit: taskclaim.Credit{At: at}},
	})
	s.finish(started(1).ID(), true)
	text := s.details()
	for _, want := range []string{
		"**Claiming**, 1 of 10 slots in use.", "Claimed 2, finished 1 (1 not completed), poisoned 1, excused deliveries 3.",
		"- `high`: 4 visible, about 9 in all", "- `low`: 0 visible, about 0 in all; errors so far: 2; last: AzureQueue.Receive: HTTP 404 QueueNotFound",
		"As of 2026-01-02 03:00:00 UTC; `starter claim status`",
	} {
		require.Contains(t, text, want)
	}
	s.State = wire.ClaimDraining
	require.Contains(t, s.details(), "**Draining**: nothing new is claimed; it ends after the running tasks, of which there are 1.")
	s.State, s.Reason = wire.ClaimStopped, "enough"
	require.Contains(t, s.details(), "**Stopped**: what runs is told to stop; still running: 1.\n\nReason: enough.")
}
