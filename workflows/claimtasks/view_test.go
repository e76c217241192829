package claimtasks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// What the Web UI shows of a claimer: slots, counts, each queue with its last error, why it ends.
func TestDetailsOfAClaimer(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	s := newCarried(10, at)
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
		"Figures of 2026-01-02 03:00:00 UTC; `starter claim status`",
	} {
		require.Contains(t, text, want)
	}
	s.State = wire.ClaimDraining
	require.Contains(t, s.details(), "**Draining**: nothing new is claimed; it ends after the running tasks, of which there are 1.")
	s.State, s.Reason = wire.ClaimStopped, "enough"
	require.Contains(t, s.details(), "**Stopped**: what runs is told to stop; still running: 1.\n\nReason: enough.")
}
