package claimtasks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/wire"
)

func started(n int) wire.StartedTask {
	return wire.StartedTask{TaskID: fmt.Sprintf("t%d", n), StartedAt: time.Unix(0, 0).UTC()}
}

// Starts are reported in batches and ends told at any time, before or after, once
// or twice; the books are right in the end, and the same after continue-as-new.
func TestClaimBooksBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newCarried(10, time.Unix(0, 0).UTC())
		n := rapid.IntRange(0, 60).Draw(t, "tasks")
		failed := 0
		next, open := 0, map[int]bool{} // started by the activity, whose end was not told
		var unreported []wire.StartedTask
		ends := map[int]bool{}
		step := func() {
			switch action := rapid.IntRange(0, 4).Draw(t, "action"); {
			case action <= 1 && next < n:
				unreported = append(unreported, started(next))
				open[next] = true
				next++
			case action == 2:
				s.report(wire.PollReport{Started: unreported})
				unreported = nil
			case action == 3 && next > 0:
				which := rapid.IntRange(0, next-1).Draw(t, "which")
				bad, told := which%3 == 0, ends[which]
				if !told && bad {
					failed++
				}
				ends[which] = true
				delete(open, which)
				s.finish(started(which).ID(), bad)
			default:
				raw, err := json.Marshal(s)
				require.NoError(t, err)
				s = &carried{}
				require.NoError(t, json.Unmarshal(raw, s))
			}
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			step()
			status := s.status(time.Unix(1, 0))
			require.EqualValues(t, status.Claimed, status.Finished+int64(status.Running))
			require.LessOrEqual(t, status.Claimed, int64(next))
		}
		s.report(wire.PollReport{Started: unreported})
		for i := range next {
			if open[i] {
				s.finish(started(i).ID(), i%3 == 0)
				if i%3 == 0 {
					failed++
				}
			}
		}
		status := s.status(time.Unix(1, 0))
		require.EqualValues(t, next, status.Claimed)
		require.EqualValues(t, next, status.Finished)
		require.EqualValues(t, failed, status.Failed)
		require.Zero(t, status.Running)
		require.Empty(t, s.Early)
	})
}

// A thousand running tasks with the longest IDs stay well under what a run may
// carry.
func TestClaimStateFitsIntoAPayload(t *testing.T) {
	s := newCarried(maxCapacity, time.Unix(0, 0))
	long := ""
	for range 60 {
		long += "x"
	}
	for i := range maxCapacity {
		s.Running = append(s.Running, wire.StartedTask{TaskID: fmt.Sprintf("%s%04d", long, i), RunID: 1 << 30, StartedAt: time.Now(), TakenUntil: time.Now()})
	}
	for i := range rememberEnds {
		s.remember(fmt.Sprintf("task/%s%04d/0", long, i))
	}
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	require.Less(t, len(raw), 400<<10)
}

func TestLiveAddsWhatIsNotReported(t *testing.T) {
	s := newCarried(10, time.Unix(0, 0))
	s.report(wire.PollReport{Started: []wire.StartedTask{started(0)}})
	memory := wire.PollMemory{Poisoned: 2, Tasks: []wire.OpenTask{
		{StartedTask: started(0), Sure: true}, {StartedTask: started(1), Sure: true}, {StartedTask: started(2)}}}
	in := defaultInput()
	live := s.status(time.Unix(1, 0)).Live(memory, s.control(&in, true, false))
	require.EqualValues(t, 2, live.Claimed)
	require.Equal(t, 2, live.Running)
	require.EqualValues(t, 2, live.Poisoned)
}

// TestAClaimerKeepsNoMoreThanAThousandBytesOfAReason: it is carried from run to run.
func TestAClaimerKeepsNoMoreThanAThousandBytesOfAReason(t *testing.T) {
	c := &claimer{state: newCarried(10, time.Unix(0, 0))}
	c.stop(strings.Repeat("€", 1000))
	require.Equal(t, strings.Repeat("€", 332)+"…", c.state.Reason)
}
