package quiescence

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/duration"
)

var epoch = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// watch drives a State as the polling activity does, on a clock of its own.
type watch struct {
	rule  Rule
	state State
	now   time.Time
}

func newWatch(rule Rule) *watch { return &watch{rule: rule, now: epoch} }

// poll waits until the next poll is due, polls, and tells what Decide says.
func (w *watch) poll(reading Reading, err error) string {
	if w.state.NextPollAt.After(w.now) {
		w.now = w.state.NextPollAt
	}
	if err != nil {
		w.state.Fail(w.rule, err.Error(), w.now, w.now)
	} else {
		w.state.Observe(w.rule, reading, w.now, w.now)
	}
	return w.state.Decide(w.rule, w.now)
}

func (w *watch) elapsed() time.Duration { return w.now.Sub(epoch) }

func objects(version string, count int64) Reading {
	return Reading{Version: version, Count: count, Present: count > 0}
}

func rule(repeats int) Rule {
	r := DefaultRule()
	r.Repeats = repeats
	r.Delay.Base = duration.Duration(10 * time.Second)
	return r
}

func TestQuietAfterRepeats(t *testing.T) {
	w := newWatch(rule(3))
	for i, want := range []string{"", "", "", ReasonQuiet} {
		require.Equalf(t, want, w.poll(objects("a", 1), nil), "poll %d", i+1)
	}
	require.Equal(t, 30*time.Second, w.elapsed(), "three delays after the poll that saw the change, not four")
	require.Equal(t, Settling, w.state.Phase())
}

func TestCaseQ02FailedPollNeverCountsAsQuiet(t *testing.T) {
	throttled, broken, timeout := errors.New("throttled"), errors.New("500"), errors.New("timeout")
	for _, last := range []struct {
		reading Reading
		want    string
		repeats int
	}{
		{objects("a", 1), ReasonQuiet, 3},
		{objects("b", 2), "", 0},
	} {
		w := newWatch(rule(3))
		require.Empty(t, w.poll(objects("a", 1), nil)) // the change itself
		require.Empty(t, w.poll(objects("a", 1), nil))
		require.Empty(t, w.poll(objects("a", 1), nil))
		for _, err := range []error{throttled, broken, timeout} {
			require.Empty(t, w.poll(Reading{}, err))
			require.Equal(t, 2, w.state.Repeats)
			require.Equal(t, err.Error(), w.state.LastError)
		}
		require.Equal(t, last.want, w.poll(last.reading, nil))
		require.Equal(t, last.repeats, w.state.Repeats)
		require.EqualValues(t, 3, w.state.FailedPolls)
		require.Empty(t, w.state.LastError)
	}
}

func TestCaseQ09SameCountDifferentObjects(t *testing.T) {
	w := newWatch(rule(3))
	for i, c := range []struct{ version, want string }{
		{"abc", ""}, {"abd", ""}, {"abd'", ""}, {"abd'", ""}, {"abd'", ""}, {"abd'", ReasonQuiet},
	} {
		require.Equalf(t, c.want, w.poll(objects(c.version, 3), nil), "poll %d", i+1)
	}
}

func TestCaseQ12TooFewObjectsIsNotAnError(t *testing.T) {
	r := rule(3)
	r.MinRecords = 5
	w := newWatch(r)
	for range 11 {
		require.Empty(t, w.poll(objects("three", 3), nil))
	}
	for i, want := range []string{"", "", "", ReasonQuiet} {
		require.Equalf(t, want, w.poll(objects("five", 5), nil), "poll %d after the last arrival", i)
	}

	r.MinRecords = 0
	w = newWatch(r)
	for _, want := range []string{"", "", "", ReasonQuiet} {
		require.Equal(t, want, w.poll(objects("", 0), nil), "nothing at all is quiet where it is allowed")
	}

	r.MinRecords, r.Deadline = 5, epoch.Add(time.Minute)
	w = newWatch(r)
	for range 6 {
		require.Empty(t, w.poll(objects("three", 3), nil))
	}
	require.Equal(t, r.Deadline, w.state.Wake(r))
	require.Equal(t, ReasonDeadline, w.poll(objects("three", 3), nil))
	require.EqualValues(t, 3, w.state.Count)
}

func TestCaseQ14ThreeDaysOfPollsKeepASmallState(t *testing.T) {
	r := rule(3)
	r.Delay = Delay{Strategy: Constant, Base: duration.Duration(time.Second), Min: duration.Duration(time.Second)}
	w := newWatch(r)
	const polls = 72 * 3600
	reports := 0
	for i := range polls {
		seen := min(int64(i), 100_000) / 2 * 2 // two more every other second
		require.Equal(t, "", noQuiet(w.poll(objects(fmt.Sprint(seen), seen+1), nil), seen))
		if phase := w.state.Phase(); w.state.Reports.Due(phase, w.now) {
			w.state.Reports.Told(phase, w.now)
			reports++
		}
	}
	require.EqualValues(t, polls, w.state.Polls)
	require.EqualValues(t, 100_001, w.state.Count)
	require.LessOrEqual(t, reports, 9+3*4+1, "nine, and four a day")
	require.Less(t, len(mustJSON(t, w.state)), 4096)
}

// noQuiet passes over the quiet that follows when all objects are there.
func noQuiet(reason string, seen int64) string {
	if seen >= 100_000 {
		return ""
	}
	return reason
}

func TestCaseQ16EmptyObjectIsActivityOnceItIsFilled(t *testing.T) {
	// With ignoreEmpty the source tells nothing of it until 40 s.
	w := newWatch(rule(3))
	for {
		reading := objects("", 0)
		if w.state.NextPollAt.Sub(epoch) >= 40*time.Second {
			reading = objects("full", 1)
		}
		if w.poll(reading, nil) != "" {
			break
		}
	}
	require.Equal(t, 70*time.Second, w.elapsed())
	require.EqualValues(t, 1, w.state.Count)
}

func TestMissingIsNotQuiet(t *testing.T) {
	w := newWatch(rule(3))
	for range 50 {
		require.Empty(t, w.poll(Reading{}, nil))
		require.Equal(t, Waiting, w.state.Phase())
		require.Zero(t, w.state.QuietAt(w.rule))
	}
	w.rule.StartBy = w.now.Add(time.Second)
	w.now = w.rule.StartBy
	require.Equal(t, ReasonNotStarted, w.state.Decide(w.rule, w.now))
	require.Zero(t, w.state.FirstAt)
}

func TestExpectedEndsAtOnce(t *testing.T) {
	r := rule(3)
	r.Expected = 10
	w := newWatch(r)
	require.Empty(t, w.poll(objects("9", 9), nil))
	require.Equal(t, ReasonExpected, w.poll(objects("12", 12), nil))
}

func TestGaugeIsQuietAtZeroOnly(t *testing.T) {
	backlog := func(n int64) Reading {
		return Reading{Version: fmt.Sprint(n), Count: n, Present: n > 0, Gauge: true}
	}
	w := newWatch(rule(2))
	for range 5 {
		require.Empty(t, w.poll(backlog(0), nil), "it was never above 0")
	}
	for range 5 {
		require.Empty(t, w.poll(backlog(7), nil), "it stands, but not at 0")
		require.Equal(t, Flowing, w.state.Phase())
	}
	require.Empty(t, w.poll(backlog(0), nil))
	require.Empty(t, w.poll(backlog(0), nil))
	require.Equal(t, ReasonQuiet, w.poll(backlog(0), nil))
}

func TestQuietForStopsWhileWeAreBlind(t *testing.T) {
	r := rule(1)
	r.QuietFor = duration.Duration(time.Minute)
	w := newWatch(r)
	require.Empty(t, w.poll(objects("a", 1), nil)) // at 0 s, the clock runs
	require.Empty(t, w.poll(objects("a", 1), nil)) // 10 s
	require.Empty(t, w.poll(objects("a", 1), nil)) // 20 s
	for range 3 {                                  // 30, 40, 50 s: stopped from 30 s
		require.Empty(t, w.poll(Reading{}, errors.New("no answer")))
	}
	require.Empty(t, w.poll(objects("a", 1), nil)) // 60 s: runs on
	require.Equal(t, 30*time.Second, w.state.Credit)
	require.Equal(t, epoch.Add(90*time.Second), w.state.QuietAt(r))
	w.now = w.now.Add(time.Hour)                   // the worker was gone for an hour
	require.Empty(t, w.poll(objects("a", 1), nil)) // counts as the 10 s that were planned
	require.Equal(t, 40*time.Second, w.state.Credit)
	require.Empty(t, w.poll(objects("a", 1), nil))
	require.Equal(t, ReasonQuiet, w.poll(objects("a", 1), nil))
}

// When only the quiet time is missing the next poll comes when it is over.
func TestLastPollComesWhenQuietTimeIsOver(t *testing.T) {
	r := rule(2)
	r.QuietFor = duration.Duration(25 * time.Second)
	w := newWatch(r)
	var reason string
	for reason == "" {
		reason = w.poll(objects("a", 1), nil)
	}
	require.Equal(t, ReasonQuiet, reason)
	require.Equal(t, 25*time.Second, w.elapsed())
}

func TestLateDataMakesAGeneration(t *testing.T) {
	r := rule(2)
	r.MinRecords = 3
	r.Expected = 4
	w := newWatch(r)
	for _, want := range []string{"", "", ReasonQuiet} {
		require.Equal(t, want, w.poll(objects("a", 3), nil))
	}
	w.state.Settle()
	require.Equal(t, Done, w.state.Phase())
	for range 5 {
		require.Empty(t, w.poll(objects("a", 3), nil))
	}
	require.Empty(t, w.poll(objects("b", 5), nil), "neither is the expected total counted again")
	require.Equal(t, 2, w.state.Generation)
	require.Equal(t, Flowing, w.state.Phase())
	require.Empty(t, w.poll(objects("c", 1), nil), "nor the minimum asked for again")
	require.Empty(t, w.poll(objects("c", 1), nil))
	require.Equal(t, ReasonQuiet, w.poll(objects("c", 1), nil))
}

func TestElapseIsPollingWithoutNews(t *testing.T) {
	for _, strategy := range []string{Constant, Inverse, Exponential} {
		r := rule(4)
		r.Delay.Strategy = strategy
		polled, told := newWatch(r), State{}
		for range 5 {
			polled.poll(objects("1", 1), nil)
		}
		told.Observe(r, objects("1", 1), epoch, epoch)
		require.Equal(t, polled.now, told.QuietAt(r), strategy)
		told.Elapse(r, polled.now.Add(-time.Millisecond))
		require.Empty(t, told.Decide(r, polled.now), strategy)
		told.Elapse(r, polled.now)
		require.Equal(t, ReasonQuiet, told.Decide(r, polled.now), strategy)
		require.Equal(t, polled.state.Repeats, told.Repeats, strategy)
	}
}

func TestElapseOverAYear(t *testing.T) {
	r := rule(3)
	r.MinRecords = 10
	var s State
	s.Observe(r, objects("1", 1), epoch, epoch)
	s.Elapse(r, epoch.AddDate(1, 0, 0))
	require.EqualValues(t, 365*24*360+1, s.Polls)
	require.Equal(t, epoch.AddDate(1, 0, 0).Add(10*time.Second), s.NextPollAt)
}

// Whatever comes and fails: a watch is found quiet only when its last successful
// polls, as many as repeats asks for and one more, saw the same thing.
func TestQuietOnlyAfterUnchangedPolls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rule(rapid.IntRange(1, 4).Draw(t, "repeats"))
		r.Delay.Strategy = rapid.SampledFrom([]string{Constant, Inverse, Exponential}).Draw(t, "strategy")
		r.QuietFor = duration.Duration(time.Duration(rapid.IntRange(0, 40).Draw(t, "quietFor")) * time.Second)
		w := newWatch(r)
		var seen []string
		var changedAt time.Time
		for range rapid.IntRange(1, 40).Draw(t, "polls") {
			if rapid.Bool().Draw(t, "fails") {
				if reason := w.poll(Reading{}, errors.New("fails")); reason != "" {
					t.Fatalf("a failed poll ended the watch: %s", reason)
				}
				continue
			}
			version := rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "version")
			reason := w.poll(objects(version, 1), nil)
			if len(seen) == 0 || seen[len(seen)-1] != version {
				changedAt = w.now
			}
			seen = append(seen, version)
			same := 0
			for i := len(seen) - 1; i > 0 && seen[i] == seen[i-1]; i-- {
				same++
			}
			if reason == ReasonQuiet && (same < r.Repeats || w.now.Sub(changedAt) < r.QuietFor.Std()) {
				t.Fatalf("quiet after %d repeats and %v", same, w.now.Sub(changedAt))
			}
			if reason == "" && same >= r.Repeats && w.state.FailedPolls == 0 && w.now.Sub(changedAt) >= r.QuietFor.Std() {
				t.Fatalf("not quiet after %d repeats and %v", same, w.now.Sub(changedAt))
			}
			if reason != "" {
				return
			}
		}
	})
}
