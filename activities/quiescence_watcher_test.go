package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/quiescence"
)

// polls is a source that a function makes up; n counts from 1.
type polls struct {
	n    int
	read func(n int, at time.Time) (quiescence.Reading, error)
}

func (p *polls) poll(ctx context.Context, _ func()) (quiescence.Reading, error) {
	p.n++
	return p.read(p.n, time.Now())
}

func ruleOf(base time.Duration, repeats int) quiescence.Rule {
	rule := quiescence.DefaultRule()
	rule.Delay.Base, rule.Repeats = duration.Duration(base), repeats
	return rule
}

func watching(rule quiescence.Rule, source pollSource) *watcher {
	w := &watcher{source: source, rule: rule, beat: func() {}, metrics: client.MetricsNopHandler}
	w.publish()
	return w
}

// untilReason goes on from report to report, as the workflow does.
func untilReason(t *testing.T, w *watcher) (WatchReport, int) {
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
		w := watching(rule, &itemPoll{call: caller(func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}), body: json.RawMessage(`{}`), attribute: "num_records"})
		report, _ := untilReason(t, w)
		require.Equal(t, quiescence.ReasonDeadline, report.Reason)
		require.Zero(t, report.State.Polls)
		require.EqualValues(t, 3, report.State.FailedPolls)
	})
}

type caller func(context.Context, string, json.RawMessage) (json.RawMessage, error)

func (c caller) Call(ctx context.Context, operation string, body json.RawMessage, _ int) (json.RawMessage, error) {
	return c(ctx, operation, body)
}

func TestItemPoll(t *testing.T) {
	answer := func(text string) *itemPoll {
		return &itemPoll{attribute: "num_records", call: caller(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(text), nil
		})}
	}
	read := func(text string) quiescence.Reading {
		r, err := answer(text).poll(t.Context(), func() {})
		require.NoError(t, err, text)
		return r
	}
	require.Equal(t, quiescence.Reading{}, read(`{}`), "no item is not started, never quiet")
	one := read(`{"Item":{"id":{"S":"b"},"num_records":{"N":"3"},"tags":{"SS":["x","y"]}}}`)
	require.EqualValues(t, 3, one.Count)
	require.True(t, one.Present)
	require.Equal(t, one, read(`{"Item":{"tags":{"SS":["y","x"]},"num_records":{"N":"3"},"id":{"S":"b"}}}`), "the order says nothing")
	require.NotEqual(t, one.Version, read(`{"Item":{"id":{"S":"b"},"num_records":{"N":"3"},"tags":{"SS":["x"]}}}`).Version, "any change is a change")
	require.Zero(t, read(`{"Item":{"id":{"S":"b"}}}`).Count)
	require.EqualValues(t, 1e18, read(`{"Item":{"num_records":{"N":"1E18"}}}`).Count)
	require.EqualValues(t, 2, read(`{"Item":{"num_records":{"N":"2.9"}}}`).Count)
	_, err := answer(`{"Item":{"num_records":{"S":"3"}}}`).poll(t.Context(), func() {})
	require.ErrorContains(t, err, `attribute "num_records" is no number`)
}

func TestItemPollReadsConsistently(t *testing.T) {
	source := &DynamoDBSource{Table: "t", Key: json.RawMessage(`{"id":{"S":"b"}}`), Attribute: "n"}
	var sent string
	q := &Quiescence{DynamoDB: caller(func(_ context.Context, operation string, body json.RawMessage) (json.RawMessage, error) {
		sent = operation + " " + string(body)
		return json.RawMessage(`{}`), nil
	})}
	p, err := source.open(t.Context(), q, quiescence.State{})
	require.NoError(t, err)
	_, err = p.poll(t.Context(), func() {})
	require.NoError(t, err)
	require.Equal(t, `GetItem {"ConsistentRead":true,"Key":{"id":{"S":"b"}},"TableName":"t"}`, sent)
}

// pages is a listing in pages of two; an entry "!" fails its page.
type pages []string

func (p pages) ListObjectsV2(_ context.Context, in *s3.ListObjectsV2Input, _ ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	from := 0
	if in.ContinuationToken != nil {
		_, err := fmt.Sscan(*in.ContinuationToken, &from)
		if err != nil {
			return nil, err
		}
	}
	var out s3.ListObjectsV2Output
	for _, entry := range p[from:min(from+2, len(p))] {
		if entry == "!" {
			return nil, errors.New("connection reset")
		}
		key, tag, _ := strings.Cut(entry, "=")
		out.Contents = append(out.Contents, s3types.Object{Key: &key, ETag: &tag, Size: aws.Int64(int64(len(tag)))})
	}
	if from+2 < len(p) {
		out.IsTruncated, out.NextContinuationToken = aws.Bool(true), aws.String(fmt.Sprint(from+2))
	}
	return &out, nil
}

func list(t *testing.T, l *listing, entries ...string) (quiescence.Reading, error) {
	t.Helper()
	l.lister = pages(entries)
	return l.poll(t.Context(), func() {})
}

func TestListing(t *testing.T) {
	l := &listing{source: S3Source{Bucket: "b", IgnoreEmpty: true, OnDelete: OnDeleteReset}}
	abc, err := list(t, l, "a=1", "b=1", "c=1")
	require.NoError(t, err)
	require.EqualValues(t, 3, abc.Count)
	swapped, err := list(t, l, "c=1", "a=1", "b=1")
	require.NoError(t, err)
	require.Equal(t, abc, swapped)
	for _, other := range [][]string{{"a=1", "b=1", "d=1"}, {"a=1", "b=1", "c=2"}, {"a=1", "b=1"}, {"a=1", "b=1", "c=11"}} {
		r, err := list(t, l, other...)
		require.NoError(t, err)
		require.NotEqual(t, abc.Version, r.Version, other)
	}
	_, err = list(t, l, "a=1", "b=1", "c=1", "!")
	require.Error(t, err, "a listing that breaks off is no reading")
}

func TestCaseQ16ListingIgnoresEmptyObjects(t *testing.T) {
	l := &listing{source: S3Source{Bucket: "b", IgnoreEmpty: true, OnDelete: OnDeleteReset}}
	r, err := list(t, l, "a=", "dir/=")
	require.NoError(t, err)
	require.Zero(t, r.Count)
	require.False(t, r.Present)
	r, err = list(t, l, "a=full", "dir/=")
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Count)
	l.source.IgnoreEmpty = false
	r, err = list(t, l, "a=", "dir/=")
	require.NoError(t, err)
	require.EqualValues(t, 2, r.Count)
}

func TestCaseQ09DeletionsByOption(t *testing.T) {
	steps := [][]string{{"a=1", "b=1"}, {"a=1"}, {"a=1", "c=1"}, {"c=1"}, {"c=2"}}
	for option, changed := range map[string][]bool{
		OnDeleteReset:  {true, true, true, true},
		OnDeleteIgnore: {false, true, false, true},
	} {
		l := &listing{source: S3Source{Bucket: "b", OnDelete: option}}
		var state quiescence.State
		version := ""
		for i, step := range steps {
			r, err := list(t, l, step...)
			require.NoError(t, err)
			if i > 0 {
				require.Equalf(t, changed[i-1], r.Version != version, "%s, step %d", option, i)
			}
			version = r.Version
			state.Observe(ruleOf(time.Second, 3), r, time.Now(), time.Now())
			// Another worker goes on: an unchanged listing is unchanged to it too.
			next := &listing{source: l.source, deletions: deletions{carried: state}}
			again, err := list(t, next, step...)
			require.NoError(t, err)
			require.Equal(t, r.Version, again.Version, option)
		}
	}
	l := &listing{source: S3Source{Bucket: "b", OnDelete: OnDeleteFail}}
	_, err := list(t, l, "a=1", "b=1")
	require.NoError(t, err)
	_, err = list(t, l, "a=2", "b=1", "c=1")
	require.NoError(t, err, "neither new nor overwritten is gone")
	_, err = list(t, l, "a=2", "c=1", "d=1")
	var end endWatch
	require.ErrorAs(t, err, &end)
	require.Equal(t, TypeConflict, TypeOf(end.error))
}

func TestListingOf100000ObjectsIsSmall(t *testing.T) {
	var entries []string
	for i := range 100_000 {
		entries = append(entries, fmt.Sprintf("%s/%06d=%d", strings.Repeat("k", 73), i, i))
	}
	l := &listing{source: S3Source{Bucket: "b", OnDelete: OnDeleteReset}}
	r, err := list(t, l, entries...)
	require.NoError(t, err)
	require.EqualValues(t, 100_000, r.Count)
	require.Less(t, len(r.Version)+len(r.Cursor), 200)
}

type meter map[string]string

func (m meter) GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return &sqs.GetQueueAttributesOutput{Attributes: m}, nil
}

func TestQueuePollCountsAllMessages(t *testing.T) {
	p := &queuePoll{url: "http://q/0/events", meter: meter{
		"ApproximateNumberOfMessages": "1", "ApproximateNumberOfMessagesNotVisible": "2", "ApproximateNumberOfMessagesDelayed": "4"}}
	r, err := p.poll(t.Context(), func() {})
	require.NoError(t, err)
	require.Equal(t, quiescence.Reading{Version: "7", Count: 7, Present: true, Gauge: true}, r)
}

func TestActivityAnswers(t *testing.T) {
	for raw, want := range map[string]quiescence.Reading{
		`{"version":"v1","count":3}`:         {Version: `"v1"`, Count: 3, Present: true},
		`{"version":7,"count":0,"more":[1]}`: {Version: "7"},
	} {
		r, err := readingOf("poll", json.RawMessage(raw))
		require.NoError(t, err)
		require.Equal(t, want, r)
	}
	for _, raw := range []string{`null`, `{}`, `{"count":1}`, `"v"`, `{"version":"v","count":"3"}`} {
		_, err := readingOf("poll", json.RawMessage(raw))
		require.ErrorContains(t, err, "poll: answered something else", raw)
	}
}

func TestSourceCheck(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`: "source: exactly one of",
		`{"source":{"signal":{},"sqs":{"queueUrl":"u"}}}`:                "source: exactly one of dynamodb, s3, sqs, activity, signal, not 2",
		`{"source":{"s3":{"bucket":"b","onDelete":"maybe"}}}`:            `source.s3.onDelete: "maybe" is none of`,
		`{"source":{"s3":{}}}`:                                           "source.s3.bucket: required",
		`{"source":{"dynamodb":{"table":"t","key":7}}}`:                  "source.dynamodb.key: not a key",
		`{"source":{"dynamodb":{"table":"t"}}}`:                          "source.dynamodb.key: required",
		`{"source":{"ftp":{}}}`:                                          "source.ftp: unknown field",
		`{"source":{"activity":{"name":""}}}`:                            "source.activity.name: empty",
		`{"source":{"dynamodb":{"table":"t","key":{"id":{"S":"x"}}}}}`:   "",
		`{"source":{"activity":{"name":"a","input":{"any":["thing"]}}}}`: "",
		`{"source":{"signal":{}}}`:                                       "",
	} {
		var in struct {
			Source Source `json:"source"`
		}
		faults := document.Decode([]byte(raw), &in)
		in.Source.Check(&faults, "source")
		if want == "" {
			require.NoError(t, faults.Err(), raw)
			continue
		}
		require.ErrorContains(t, faults.Err(), want, raw)
	}
}
