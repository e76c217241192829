package quiescence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/activities/dynamodb"
	"sluice/internal/duration"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// polls is a source that a function makes up; n counts from 1.
type polls struct {
	n    int
	read func(n int, at time.Time) (quiescence.Reading, error)
}

func (p *polls) poll(ctx context.Context) (quiescence.Reading, error) {
	p.n++
	return p.read(p.n, time.Now())
}

func ruleOf(base time.Duration, repeats int) quiescence.Rule {
	rule := quiescence.DefaultRule()
	rule.Delay.Base, rule.Repeats = duration.Duration(base), repeats
	return rule
}

func watching(rule quiescence.Rule, source pollSource) *watcher {
	w := &watcher{
		now:    func() time.Time { return time.Now().UTC() },
		source: source, rule: rule, beat: func() {}, metrics: client.MetricsNopHandler,
		align: func(wait time.Duration) time.Duration { return wait },
	}
	w.publish()
	return w
}

// untilReason goes on from report to report, as the workflow does.
func untilReason(t *testing.T, w *watcher) (wire.WatchReport, int) {
	t.Helper()
	for reports := 1; ; reports++ {
		report, err := w.run(t.Context())
		require.NoError(t, err)
		if report.Reason != "" || report.Over {
			return report, reports
		}
		w.state = report.State
	}
}

func TestWatchPollsAtTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		w := watching(ruleOf(30*time.Second, 5), &polls{read: func(_ int, now time.Time) (quiescence.Reading, error) {
			at = append(at, now.Sub(began))
			return quiescence.Reading{Version: "a", Count: 1, Present: true}, nil
		}})
		report, _ := untilReason(t, w)
		require.Equal(t, quiescence.ReasonQuiet, report.Reason)
		require.Equal(t, 150*time.Second, time.Since(began))
		require.Equal(t, []time.Duration{0, 30e9, 60e9, 90e9, 120e9, 150e9}, at)
	})
}

func TestWatchADayOfWaitingReportsSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := ruleOf(30*time.Second, 5)
		rule.Deadline = time.Now().Add(24 * time.Hour)
		w := watching(rule, &polls{read: func(int, time.Time) (quiescence.Reading, error) { return quiescence.Reading{}, nil }})
		report, reports := untilReason(t, w)
		require.Equal(t, quiescence.ReasonDeadline, report.Reason)
		require.LessOrEqual(t, reports, 6)
		require.EqualValues(t, 24*120, report.State.Polls)
	})
}

// Seven events a report, and the start and end, stay below a hundred even where
// the target never stops to change its phase.
func TestWatchADayOfFlappingStaysUnderAHundredEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := ruleOf(time.Second, 5)
		rule.Deadline = time.Now().Add(24 * time.Hour)
		w := watching(rule, &polls{read: func(n int, _ time.Time) (quiescence.Reading, error) {
			return quiescence.Reading{Version: fmt.Sprint(n / 2), Count: int64(n), Present: true}, nil
		}})
		_, reports := untilReason(t, w)
		require.Less(t, 7*reports+6, 100)
	})
}

func TestWatchKeepsStateWhenInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := watching(ruleOf(30*time.Second, 5), &polls{read: func(int, time.Time) (quiescence.Reading, error) {
			return quiescence.Reading{Version: "a", Count: 1, Present: true}, nil
		}})
		w.state.Reports.Spent = 9 // none to spend, so that it goes on
		w.state.Reports.Since = time.Now()
		time.AfterFunc(75*time.Second, cancel)
		_, err := w.run(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 2, w.snapshot().Repeats)
		require.False(t, w.snapshot().QuietAt.IsZero())

		// Another worker goes on from the snapshot and does not begin again.
		raw, err := json.Marshal(w.snapshot())
		require.NoError(t, err)
		next := watching(w.rule, w.source)
		require.NoError(t, json.Unmarshal(raw, &next.state))
		report, _ := untilReason(t, next)
		require.Equal(t, quiescence.ReasonQuiet, report.Reason)
		require.Equal(t, 5, report.State.Repeats)
	})
}

func TestWatchAfterTheFirstQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := watching(ruleOf(10*time.Second, 2), &polls{read: func(_ int, now time.Time) (quiescence.Reading, error) {
			if now.Sub(began) > time.Minute {
				return quiescence.Reading{Version: "b", Count: 2, Present: true}, nil
			}
			return quiescence.Reading{Version: "a", Count: 1, Present: true}, nil
		}})
		report, _ := untilReason(t, w)
		require.Equal(t, quiescence.ReasonQuiet, report.Reason)
		w.state = report.State
		w.state.Settle()
		w.lateUntil = time.Now().Add(5 * time.Minute)
		report, _ = untilReason(t, w)
		require.Equal(t, quiescence.ReasonQuiet, report.Reason)
		require.Equal(t, 2, report.State.Generation)
		w.state = report.State
		w.state.Settle()
		report, _ = untilReason(t, w)
		require.True(t, report.Over)
		require.Equal(t, 20*time.Second+5*time.Minute, time.Since(began))
	})
}

func TestWatchTakesAHangingServiceForAFailedPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := ruleOf(10*time.Second, 2)
		rule.Deadline = time.Now().Add(2 * time.Minute)
		w := watching(rule, &itemPoll{items: dynamodb.NewGatheredReads(dynamodb.CallerFunc(func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})), key: json.RawMessage(`{"id":{"S":"b"}}`), attribute: "num_records"})
		report, _ := untilReason(t, w)
		require.Equal(t, quiescence.ReasonDeadline, report.Reason)
		require.Zero(t, report.State.Polls)
		require.EqualValues(t, 3, report.State.FailedPolls)
	})
}

func TestWatchTellsNewsAtOnceAndSilenceWithTheNextHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []string{`{}`, `{"Item":{"num_records":{"N":"1"}}}`, `{"Item":{"num_records":{"N":"1"}}}`, "", `{"Item":{"num_records":{"N":"1"}}}`, `{"Item":{"num_records":{"N":"2"}}}`}
		polls := 0
		w := watching(ruleOf(10*time.Second, len(answers)), &itemPoll{attribute: "num_records", key: json.RawMessage(`{"id":{"S":"b"}}`), items: dynamodb.NewGatheredReads(
			dynamodb.CallerFunc(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				polls++
				if answers[polls-1] == "" {
					return nil, errors.New("connection reset")
				}
				return json.RawMessage(answers[polls-1]), nil
			}))})
		var told []int
		w.beat = func() { told = append(told, polls) }
		for polls < len(answers) {
			_, err := w.run(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, []int{1, 2, 4, 6}, told, "the first look, a change, a failure, a change")
	})
}

// A watch's heartbeats are rare once nothing has changed for ten minutes, and frequent
// again with the first change or failed poll; each run of the activity has one spacing.
func TestWatchCalmsDownAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		source := &polls{read: func(_ int, now time.Time) (quiescence.Reading, error) {
			switch passed := now.Sub(began); {
			case passed < time.Hour:
				return quiescence.Reading{}, nil
			case passed < 2*time.Hour:
				return quiescence.Reading{Version: "a", Count: 1, Present: true}, nil
			default:
				return quiescence.Reading{}, errors.New("refused")
			}
		}}
		rule := ruleOf(30*time.Second, 1_000_000)
		rule.Deadline = began.Add(3 * time.Hour)
		type step struct {
			after   time.Duration
			phase   string
			spacing time.Duration
		}
		var told []step
		w := watching(rule, source)
		for {
			w.began, w.spacing = time.Now(), w.state.Spacing.Std()
			report, err := w.run(t.Context())
			require.NoError(t, err)
			if report.Reason != "" {
				break
			}
			told = append(told, step{time.Since(began), report.State.Phase(), report.State.Spacing.Std()})
		}
		require.Equal(t, []step{
			{0, quiescence.Waiting, 10 * time.Second},
			{10 * time.Minute, quiescence.Waiting, time.Minute},
			{time.Hour, quiescence.Flowing, 10 * time.Second},
			{time.Hour + 30*time.Second, quiescence.Settling, 10 * time.Second},
			{time.Hour + 10*time.Minute + 30*time.Second, quiescence.Settling, time.Minute},
			{2 * time.Hour, quiescence.Settling, 10 * time.Second},
		}, told)
	})
}
