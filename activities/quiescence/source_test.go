package quiescence

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
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/activities/dynamodb"
	"sluice/internal/document"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

func TestItemPoll(t *testing.T) {
	answer := func(text string) *itemPoll {
		return &itemPoll{attribute: "num_records", key: json.RawMessage(`{"id":{"S":"b"}}`), items: dynamodb.NewGatheredReads(dynamodb.CallerFunc(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(text), nil
		}))}
	}
	read := func(text string) quiescence.Reading {
		return whatIsThere(t, answer(text))
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
	_, err := answer(`{"Item":{"num_records":{"S":"3"}}}`).poll(t.Context())
	require.ErrorContains(t, err, `attribute "num_records" is no number`)
}

func TestItemPollReadsConsistently(t *testing.T) {
	source := &wire.DynamoDBSource{Table: "t", Key: json.RawMessage(`{"id":{"S":"b"}}`), Attribute: "n"}
	var sent string
	q := &Activities{Items: dynamodb.NewGatheredReads(dynamodb.CallerFunc(func(_ context.Context, operation string, body json.RawMessage) (json.RawMessage, error) {
		sent = operation + " " + string(body)
		return json.RawMessage(`{}`), nil
	}))}
	p, err := q.source(t.Context(), wire.Source{DynamoDB: source}, quiescence.State{})
	require.NoError(t, err)
	_, err = p.poll(t.Context())
	require.NoError(t, err)
	require.Equal(t, `GetItem {"ConsistentRead":true,"Key":{"id":{"S":"b"}},"TableName":"t"}`, sent)
}

// whatIsThere polls once and tells what was found, however long it took.
func whatIsThere(t *testing.T, source pollSource) quiescence.Reading {
	t.Helper()
	reading, err := source.poll(t.Context())
	require.NoError(t, err)
	reading.Slowest = 0
	return reading
}

// reads is a table whose item is read as a function says, n from 1.
func reads(read func(n int) (string, error)) *itemPoll {
	n := 0
	return &itemPoll{attribute: "n", key: json.RawMessage(`{"id":{"S":"b"}}`), items: dynamodb.NewGatheredReads(
		dynamodb.CallerFunc(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			n++
			item, err := read(n)
			return json.RawMessage(item), err
		}))}
}

func throttledFor(delay time.Duration, code string) error {
	return activities.Fail(activities.TypeThrottled, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Code: code, Operation: "DynamoDB.GetItem"}, Message: "not now", Delay: delay,
	})
}

// While it is not known how much a table takes, or others are ahead, a poll waits for
// its turn: nothing was asked yet, so nothing failed.
func TestItemPollWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		reading, err := reads(func(n int) (string, error) {
			if n < 4 {
				return "", throttledFor(4*time.Second, "")
			}
			return `{"Item":{"n":{"N":"3"}}}`, nil
		}).poll(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, reading.Count)
		require.InDelta(t, 12*time.Second, time.Since(began), float64(100*time.Millisecond))
	})
}

// It does not wait for longer than a poll may take, nor where the service itself has
// refused.
func TestItemPollFailsWhereItsTurnIsFarOffOrTheServiceThrottles(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		took time.Duration
	}{
		"no turn in time": {throttledFor(4*time.Second, ""), 28 * time.Second},
		"paused":          {throttledFor(pollTimeout, ""), 0},
		"the service":     {throttledFor(time.Second, "ThrottlingException"), 0},
		"no delay":        {throttledFor(0, ""), pollTimeout},
		"something else":  {activities.Fail(activities.TypeUnavailable, activities.Failure{Delay: time.Second}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := reads(func(int) (string, error) { return "", c.err }).poll(t.Context())
				require.ErrorContains(t, err, c.err.Error())
				require.InDelta(t, c.took, time.Since(began), float64(500*time.Millisecond))
			})
		})
	}
}

// Each source tells how long its slowest call took, without the wait for its turn.
func TestSourcesTellTheirSlowestCall(t *testing.T) {
	slow := func(d time.Duration) string { time.Sleep(d); return `{"Item":{"n":{"N":"3"}}}` }
	listed := func(_ context.Context, in *awss3.ListObjectsV2Input) (*awss3.ListObjectsV2Output, error) {
		if in.ContinuationToken == nil {
			time.Sleep(8 * time.Second)
			return &awss3.ListObjectsV2Output{IsTruncated: aws.Bool(true), NextContinuationToken: aws.String("more")}, nil
		}
		time.Sleep(4 * time.Second)
		return &awss3.ListObjectsV2Output{}, nil
	}
	for name, c := range map[string]struct {
		source pollSource
		want   time.Duration
	}{
		"dynamodb": {reads(func(n int) (string, error) {
			if n < 3 {
				return "", throttledFor(6*time.Second, "")
			}
			return slow(2 * time.Second), nil
		}), 2 * time.Second},
		"no item": {reads(func(int) (string, error) { slow(7 * time.Second); return "{}", nil }), 7 * time.Second},
		"s3":      {&listing{lister: listerFunc(listed), source: wire.S3Source{Bucket: "b", OnDelete: wire.OnDeleteReset}}, 8 * time.Second},
		"sqs": {&queuePoll{url: "u", meter: meterFunc(func() map[string]string {
			time.Sleep(9 * time.Second)
			return map[string]string{}
		})}, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reading, err := c.source.poll(t.Context())
				require.NoError(t, err)
				require.InDelta(t, c.want, reading.Slowest, float64(50*time.Millisecond))
			})
		})
	}
}

type listerFunc func(context.Context, *awss3.ListObjectsV2Input) (*awss3.ListObjectsV2Output, error)

func (f listerFunc) ListObjectsV2(ctx context.Context, in *awss3.ListObjectsV2Input, _ ...func(*awss3.Options)) (*awss3.ListObjectsV2Output, error) {
	return f(ctx, in)
}

type meterFunc func() map[string]string

func (f meterFunc) GetQueueAttributes(context.Context, *awssqs.GetQueueAttributesInput, ...func(*awssqs.Options)) (*awssqs.GetQueueAttributesOutput, error) {
	return &awssqs.GetQueueAttributesOutput{Attributes: f()}, nil
}

// pages is a listing in pages of two; an entry "!" fails its page.
type pages []string

func (p pages) ListObjectsV2(_ context.Context, in *awss3.ListObjectsV2Input, _ ...func(*awss3.Options)) (*awss3.ListObjectsV2Output, error) {
	from := 0
	if in.ContinuationToken != nil {
		_, err := fmt.Sscan(*in.ContinuationToken, &from)
		if err != nil {
			return nil, err
		}
	}
	var out awss3.ListObjectsV2Output
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
	reading, err := l.poll(t.Context())
	reading.Slowest = 0
	return reading, err
}

func TestListing(t *testing.T) {
	l := &listing{source: wire.S3Source{Bucket: "b", IgnoreEmpty: true, OnDelete: wire.OnDeleteReset}}
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
	l := &listing{source: wire.S3Source{Bucket: "b", IgnoreEmpty: true, OnDelete: wire.OnDeleteReset}}
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
		wire.OnDeleteReset:  {true, true, true, true},
		wire.OnDeleteIgnore: {false, true, false, true},
	} {
		l := &listing{source: wire.S3Source{Bucket: "b", OnDelete: option}}
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
	l := &listing{source: wire.S3Source{Bucket: "b", OnDelete: wire.OnDeleteFail}}
	_, err := list(t, l, "a=1", "b=1")
	require.NoError(t, err)
	_, err = list(t, l, "a=2", "b=1", "c=1")
	require.NoError(t, err, "neither new nor overwritten is gone")
	_, err = list(t, l, "a=2", "c=1", "d=1")
	var end endWatch
	require.ErrorAs(t, err, &end)
	require.Equal(t, activities.TypeConflict, activities.TypeOf(end.error))
}

func TestListingOf100000ObjectsIsSmall(t *testing.T) {
	var entries []string
	for i := range 100_000 {
		entries = append(entries, fmt.Sprintf("%s/%06d=%d", strings.Repeat("k", 73), i, i))
	}
	l := &listing{source: wire.S3Source{Bucket: "b", OnDelete: wire.OnDeleteReset}}
	r, err := list(t, l, entries...)
	require.NoError(t, err)
	require.EqualValues(t, 100_000, r.Count)
	require.Less(t, len(r.Version)+len(r.Cursor), 200)
}

type meter map[string]string

func (m meter) GetQueueAttributes(context.Context, *awssqs.GetQueueAttributesInput, ...func(*awssqs.Options)) (*awssqs.GetQueueAttributesOutput, error) {
	return &awssqs.GetQueueAttributesOutput{Attributes: m}, nil
}

func TestQueuePollCountsAllMessages(t *testing.T) {
	p := &queuePoll{url: "http://q/0/events", meter: meter{
		"ApproximateNumberOfMessages": "1", "ApproximateNumberOfMessagesNotVisible": "2", "ApproximateNumberOfMessagesDelayed": "4"}}
	require.Equal(t, quiescence.Reading{Version: "7", Count: 7, Present: true, Gauge: true}, whatIsThere(t, p))
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
			Source wire.Source `json:"source"`
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
