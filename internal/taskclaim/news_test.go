package taskclaim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/taskclaim"
)

// simulated is what a claimer told in a simulation.
type simulated struct {
	events  int           // that its reports cost, at three each, workflow tasks not counted
	longest time.Duration // that a started task was not told
	closest time.Duration // between two reports of started tasks
}

// simulate feeds a claimer tasks for a time; with errors there is always one to tell.
func simulate(tasks int, every, span time.Duration, errors bool) simulated {
	const tick = 100 * time.Millisecond
	now := noon
	credit := taskclaim.Credit{Events: taskclaim.FirstCredit, At: now}
	made := simulated{closest: span}
	started, untold := 0, false
	var since, reported time.Time
	for end := now.Add(span); now.Before(end); now = now.Add(tick) {
		for started < tasks && !now.Before(noon.Add(time.Duration(started)*every)) {
			if !untold {
				untold, since = true, now
			}
			started++
		}
		if errors && since.IsZero() {
			since = now
		}
		credit = credit.Earn(now)
		n := taskclaim.News{Started: untold, Other: errors, Age: now.Sub(since), Quiet: now.Sub(reported)}
		if !n.Due(credit) {
			continue
		}
		made.events += 3
		if untold {
			made.longest = max(made.longest, now.Sub(since))
			if made.events > 3 {
				made.closest = min(made.closest, now.Sub(reported))
			}
		} else {
			credit = credit.Spend()
		}
		untold, since, reported = false, time.Time{}, now
	}
	return made
}

// Started tasks are told within two seconds, together, however they come.
func TestStartedTasksAreToldWithinTwoSeconds(t *testing.T) {
	for name, every := range map[string]time.Duration{
		"fast": 10 * time.Millisecond, "a second": time.Second, "trickle": 20 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			const tasks = 320
			span := tasks*every + time.Minute
			made := simulate(tasks, every, span, false)
			require.LessOrEqual(t, made.longest, 2*time.Second)
			require.GreaterOrEqual(t, made.closest, 1500*time.Millisecond)
			require.LessOrEqual(t, made.events, 3*min(tasks, int(span/(1500*time.Millisecond))+1))
		})
	}
}

// On the worst of idle days, on which an error comes and goes all the time, the
// first one of a claimer and any other: six events a report, workflow tasks
// counted, and what comes with the start.
func TestIdleDayCostsUnderAHundredEventsWhateverGoesWrong(t *testing.T) {
	const start = 7 // started, workflow task, search attributes, first activity
	first := simulate(0, 0, 24*time.Hour, true).events
	require.Less(t, 2*first+start, 100)
	two := simulate(0, 0, 48*time.Hour, true).events
	require.Less(t, 2*(two-first), 100, "the second day")
	saved := taskclaim.Credit{At: noon}.Earn(noon.Add(1000 * time.Hour)).Events
	require.Less(t, 2*(saved+24), 100.0, "a day after many on which nothing happened")
}

func TestStartsAndLossesAreToldWithoutCredit(t *testing.T) {
	broke := taskclaim.Credit{Events: -30}
	require.True(t, taskclaim.News{Urgent: true, Age: time.Second}.Due(broke))
	require.True(t, taskclaim.News{Started: true, Age: time.Second, Quiet: time.Hour}.Due(broke))
	require.False(t, taskclaim.News{Started: true, Age: time.Second, Quiet: time.Second}.Due(broke))
	require.False(t, taskclaim.News{Other: true, Age: time.Hour, Quiet: time.Hour}.Due(broke))
	require.False(t, taskclaim.News{}.Due(taskclaim.Credit{Events: 30}))
}

func TestFree(t *testing.T) {
	for _, c := range []struct {
		slots taskclaim.Slots
		want  int
	}{
		{taskclaim.Slots{Capacity: 10, Running: 3}, 7},
		{taskclaim.Slots{Capacity: 2, Running: 5}, 0}, // lowered while running
		{taskclaim.Slots{Capacity: 10, MaxTasks: 5, Claimed: 3}, 2},
		{taskclaim.Slots{Capacity: 10, MaxTasks: 5, Claimed: 5}, 0},
		{taskclaim.Slots{Capacity: 10, MaxTasks: 5, Claimed: 9}, 0},
	} {
		require.Equal(t, c.want, c.slots.Free(), "%+v", c)
	}
}

func TestFreeNeverExceedsEitherLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := taskclaim.Slots{
			Capacity: rapid.IntRange(1, 1000).Draw(t, "capacity"),
			Running:  rapid.IntRange(0, 2000).Draw(t, "running"),
			MaxTasks: rapid.Int64Range(0, 100).Draw(t, "max"),
			Claimed:  rapid.Int64Range(0, 200).Draw(t, "claimed"),
		}
		free := s.Free()
		require.GreaterOrEqual(t, free, 0)
		require.LessOrEqual(t, free, max(0, s.Capacity-s.Running))
		if s.MaxTasks > 0 {
			require.LessOrEqual(t, int64(free), max(0, s.MaxTasks-s.Claimed))
		}
	})
}
