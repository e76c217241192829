package taskclaim_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/taskclaim"
)

// simulate feeds a claimer tasks and tells how many history events its reports
// cost, at three a report, workflow tasks not counted, and how many tasks were
// unreported at most.
func simulate(tasks int, every time.Duration, span time.Duration, noise bool) (events int, longest int) {
	now := noon
	credit := taskclaim.Credit{Events: taskclaim.FirstCredit, At: now}
	started, unreported, other := 0, 0, false
	var since time.Time
	for end := now.Add(span); now.Before(end); now = now.Add(time.Second) {
		for started < tasks && !now.Before(noon.Add(time.Duration(started)*every)) {
			if unreported == 0 {
				since = now
			}
			started++
			unreported++
			credit = credit.Earn(now, 1)
		}
		if noise && !other {
			other, since = true, now
		}
		credit = credit.Earn(now, 0)
		longest = max(longest, unreported)
		n := taskclaim.News{Started: unreported, Other: other, Age: now.Sub(since)}
		if n.Due(credit) {
			credit = credit.Spend()
			events += 3
			unreported, other = 0, false
		}
	}
	return events, longest
}

func TestClaimingCostsAtMostEightEventsPer32Tasks(t *testing.T) {
	for name, every := range map[string]time.Duration{
		"fast": 10 * time.Millisecond, "a second": time.Second, "trickle": 20 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			const tasks = 3_200
			span := tasks*every + time.Minute
			events, longest := simulate(tasks, every, span, false)
			budget := tasks/32*8 + int(math.Ceil(span.Hours()*2)) + 24
			require.LessOrEqual(t, events, budget)
			require.LessOrEqual(t, longest, 8*taskclaim.FullReport+100, "at most a tick more than eight full reports")
		})
	}
}

// On the worst of idle days, on which an error comes and goes all the time, the
// first one of a claimer and any other: six events a report, workflow tasks
// counted, and what comes with the start.
func TestIdleDayCostsUnderAHundredEventsWhateverGoesWrong(t *testing.T) {
	const start = 7 // started, workflow task, search attributes, first activity
	first, _ := simulate(0, 0, 24*time.Hour, true)
	require.Less(t, 2*first+start, 100)

	two, _ := simulate(0, 0, 48*time.Hour, true)
	require.Less(t, 2*(two-first), 100, "the second day")
	saved := taskclaim.Credit{At: noon}.Earn(noon.Add(1000*time.Hour), 0).Events
	require.Less(t, 2*(saved+24), 100.0, "a day after many on which nothing happened")
}

func TestUrgentNewsIsToldWithoutCredit(t *testing.T) {
	broke := taskclaim.Credit{Events: -30}
	require.True(t, taskclaim.News{Urgent: true, Age: time.Second}.Due(broke))
	require.False(t, taskclaim.News{Started: 5, Age: time.Hour}.Due(broke))
	require.True(t, taskclaim.News{Started: 32, Age: 2 * time.Second}.Due(broke))
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
