package kinesis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"pgregory.net/rapid"

	"sluice/activities"
	"sluice/activities/s3"
	"sluice/internal/objectrecords"
	"sluice/internal/recordbatch"
)

// whole is a state as an attempt writes it.
func whole(s putState) putState {
	s.Seal = s.seal()
	return s
}

// brokenObject is an object whose connection breaks at byte breaks, once before
// has been waited for; negative: never.
type brokenObject struct {
	*textObject
	breaks int64
	before func()
}

func (o *brokenObject) OpenObject(ctx context.Context, object s3.Object, offset int64) (io.ReadCloser, s3.Object, error) {
	body, object, err := o.textObject.OpenObject(ctx, object, offset)
	if err != nil || o.breaks < 0 {
		return body, object, err
	}
	parts := io.MultiReader(io.LimitReader(body, max(0, o.breaks-offset)), &breaking{o.before})
	return io.NopCloser(parts), object, nil
}

type breaking struct{ before func() }

func (b *breaking) Read([]byte) (int, error) {
	b.before()
	return 0, activities.Fail(activities.TypeUnavailable, activities.Failure{Message: "the connection broke"})
}

// leftBy is the checkpoint in the error of an attempt.
func leftBy(t require.TestingT, err error) (state putState) {
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, activities.TypeUnavailable, application.Type(), "%v", err)
	var details activities.ErrorDetails
	require.NoError(t, application.Details(&details, &state))
	return state
}

// numbersOf are the numbers of enveloped records, each of which is that of the
// object.
func numbersOf(t require.TestingT, records []recordbatch.Record, text func(n int) any) (numbers []int) {
	for _, r := range records {
		var e struct {
			ID   string `json:"id"`
			Data any    `json:"data"`
		}
		require.NoError(t, json.Unmarshal(r.Data, &e))
		var n int
		_, err := fmt.Sscanf(e.ID, "r/b/k#%d", &n)
		require.NoError(t, err, e.ID)
		require.Equal(t, text(n), e.Data, e.ID)
		numbers = append(numbers, n)
	}
	return numbers
}

// TestACheckpointBesideRecordsSettledAheadNamesNoUnreadPlace: an attempt settles
// the one record that an earlier one had left in the middle, and breaks before it
// has read those settled behind. What it leaves goes on where the object goes on.
func TestACheckpointBesideRecordsSettledAheadNamesNoUnreadPlace(t *testing.T) {
	var lines []string
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	lines[2] += strings.Repeat("x", chunkBytes) // sent before the next is read
	text := strings.Join(lines, "\n") + "\n"
	ends := endsOf(t, objectrecords.Lines, text)
	w := newWorld(t, 1)
	object := &brokenObject{textObject: w.object(text), breaks: ends[2], before: func() {
		require.Eventually(t, func() bool { return w.stream.callCount() > 0 }, time.Minute, time.Millisecond)
	}}
	w.kinesis.Objects = object
	w.env.SetHeartbeatDetails(whole(putState{Next: 2, Offset: ends[1], Ahead: "1-7", ETag: "v1", Output: PutRecordsOutput{StoredRecordCount: 9}}))
	const fields = `"Envelope":true,"Run":"r"`
	_, err := w.putObject(fields)
	left := leftBy(t, err)
	require.Equal(t, [2]int64{3, ends[2]}, [2]int64{left.Next, left.Offset})
	require.Equal(t, "0-6", left.Ahead)

	w.fresh()
	object.breaks = -1
	w.env.SetHeartbeatDetails(left)
	out, err := w.putObject(fields)
	require.NoError(t, err)
	require.EqualValues(t, 10, out.RecordCount)
	require.EqualValues(t, 10, out.StoredRecordCount)
	require.Equal(t, []int{2}, numbersOf(t, w.stream.stored, func(n int) any { return lines[n] }))
}

// attempts puts one object by attempts that break wherever a test says.
type attempts struct {
	*rapid.T
	w       *world
	object  *brokenObject
	fields  string
	records int
	text    func(n int) any
	state   putState
	copies  map[int]int
	lost    bool // an attempt: what it sent may come again
}

// TestAnyAttemptsSendTheRecordsOfTheObject: whatever is settled ahead and wherever
// reading breaks, by an error or with the worker, what goes out is the object's
// records under their numbers, and what was settled does not go out again.
func TestAnyAttemptsSendTheRecordsOfTheObject(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := &attempts{T: rt, w: newWorld(t, 1, atOnce, batchesOf(rapid.IntRange(1, 3).Draw(rt, "batch"))), copies: map[int]int{}}
		a.draw(t)
		for try := 0; ; try++ {
			if out, ended := a.attempt(try); ended {
				require.EqualValues(rt, a.records, out.RecordCount)
				require.EqualValues(rt, a.records, out.StoredRecordCount)
				break
			}
		}
		require.Len(rt, a.copies, a.records)
		for n, copies := range a.copies {
			require.True(rt, copies == 1 || a.lost, "record %d was sent %d times", n, copies)
		}
	})
}

// batchesOf has requests of n records, each sent as soon as so many are read.
func batchesOf(n int) func(*Settings) {
	return func(s *Settings) { s.Limits.Records = n }
}

// draw makes the object, and the state of an attempt that had some settled ahead.
func (a *attempts) draw(t *testing.T) {
	a.records = rapid.IntRange(1, 60).Draw(a.T, "records")
	format := rapid.SampledFrom([]string{objectrecords.Lines, objectrecords.JSONArray, objectrecords.CSV}).Draw(a.T, "format")
	coding := rapid.SampledFrom([]string{objectrecords.Identity, objectrecords.Gzip, objectrecords.Zstd}).Draw(a.T, "coding")
	var b strings.Builder
	b.WriteString(map[string]string{objectrecords.JSONArray: "[", objectrecords.CSV: "id\n"}[format])
	for i := range a.records {
		switch format {
		case objectrecords.JSONArray:
			fmt.Fprintf(&b, "%s{\"id\":\"%d\"}", strings.Repeat(",", min(i, 1)), i)
		case objectrecords.CSV:
			fmt.Fprintf(&b, "%d\n", i)
		default:
			fmt.Fprintf(&b, "line %d\n", i)
		}
	}
	b.WriteString(map[string]string{objectrecords.JSONArray: "]"}[format])
	a.text = func(n int) any { return map[string]any{"id": fmt.Sprint(n)} }
	if format == objectrecords.Lines {
		a.text = func(n int) any { return fmt.Sprintf("line %d", n) }
	}
	a.fields = fmt.Sprintf(`"Format":%q,"Envelope":true,"Run":"r"`, format)
	a.object = &brokenObject{textObject: a.w.object(compress(t, coding, b.String())), breaks: -1}
	a.w.kinesis.Objects = a.object

	ends := append([]int64{0}, endsOf(t, format, b.String())...)
	next := rapid.IntRange(0, a.records).Draw(a.T, "next")
	progress := recordbatch.NewProgress(int64(next), windowRecords)
	every := rapid.IntRange(1, 40).Draw(a.T, "every")
	for n := next + 1; n < a.records; n++ {
		if n%every != 0 {
			progress.Settle(int64(n))
		}
	}
	for n := range a.records {
		if progress.Has(int64(n)) {
			a.copies[n] = 1
		}
	}
	a.state = putState{Next: int64(next), Offset: ends[next], Ahead: progress.Ahead(), ETag: "v1", Coding: coding,
		Output: PutRecordsOutput{StoredRecordCount: progress.Settled()}}
	if rapid.Bool().Draw(a.T, "whole") {
		a.state = whole(a.state)
	}
}

// attempt is one; the fourth runs undisturbed.
func (a *attempts) attempt(try int) (out PutRecordsOutput, ended bool) {
	a.w.fresh()
	a.w.env.SetHeartbeatDetails(a.state)
	var marks []putState
	a.w.env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var mark putState
		if details.Get(&mark) == nil {
			marks = append(marks, mark)
		}
	})
	a.object.breaks = -1
	a.w.stream.stored, a.w.stream.refuse = nil, nil
	if try < 3 {
		a.object.breaks = rapid.Int64Range(0, int64(len(a.object.body))).Draw(a.T, "breaks")
		a.object.before = a.calls(a.w.stream.callCount() + rapid.IntRange(0, 4).Draw(a.T, "calls"))
		every := rapid.IntRange(2, 50).Draw(a.T, "refused")
		a.w.stream.refuse = func(_ int, _ string, r recordbatch.Record) string {
			if xxhash.Sum64(r.Data)%uint64(every) == 0 {
				return recordbatch.CodeThrottled
			}
			return ""
		}
	}
	out, err := a.w.putObject(a.fields)
	had := recordbatch.NewProgress(a.state.Next, windowRecords)
	require.NoError(a.T, had.Mark(a.state.Ahead))
	for _, n := range numbersOf(a.T, a.w.stream.stored, a.text) {
		require.Less(a.T, n, a.records)
		require.False(a.T, had.Has(int64(n)), "record %d was settled", n)
		a.copies[n]++
	}
	if err == nil {
		return out, true
	}
	a.state = leftBy(a.T, err)
	if len(marks) > 0 && rapid.Bool().Draw(a.T, "lost") {
		a.lost, a.state = true, rapid.SampledFrom(marks).Draw(a.T, "mark")
	}
	return out, false
}

// calls waits until the stream has had n calls, or no more come.
func (a *attempts) calls(n int) func() {
	return func() {
		for had := -1; had < a.w.stream.callCount() && a.w.stream.callCount() < n; {
			had = a.w.stream.callCount()
			select {
			case <-a.w.stream.called:
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// TestImpossibleCheckpointsAreRefused: a put goes on from nothing that no attempt
// can have left.
func TestImpossibleCheckpointsAreRefused(t *testing.T) {
	const text = "a\nb\nc\nd\n"
	for name, state := range map[string]putState{
		"a place before its records":  {Next: 3, Offset: 0},
		"a place too near":            {Next: 3, Offset: 2},
		"a place within a record":     {Next: 3, Offset: 5},
		"another record's place":      {Next: 2, Offset: 6},
		"a place without records":     {Offset: 4},
		"more records than there are": {Next: 7, Offset: 8},
		"more settled than there are": {Next: 2, Offset: 4, Ahead: "1-7"},
		"numbers below zero":          {Next: -1},
		"numbers beyond all":          {Next: 1 << 62, Offset: 1 << 62},
		"what is settled, twice":      {Next: 2, Offset: 4, Ahead: "1,1"},
		"no ranges":                   {Next: 2, Offset: 4, Ahead: "x"},
		"more told than settled":      {Next: 2, Offset: 4, Output: PutRecordsOutput{StoredRecordCount: 2, FailedRecordCount: 1}},
		"a count below zero":          {Next: 2, Offset: 4, Output: PutRecordsOutput{FailedRecordCount: -1}},
		"another's seal":              {Next: 2, Offset: 4, Seal: whole(putState{Next: 1, Offset: 2}).Seal},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, atOnce)
			w.object(text)
			w.env.SetHeartbeatDetails(state)
			_, err := w.putObject("")
			require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err), "%v", err)
			require.Contains(t, err.Error(), "checkpoint")
		})
	}
	w := newWorld(t, 1, atOnce)
	w.env.SetHeartbeatDetails(putState{Next: 3, Ahead: "1"})
	_, err := w.try(numbered(3, 3), "")
	require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err), "%v", err)
	require.Zero(t, w.stream.callCount())
}

// FuzzPutObjectCheckpoint: whatever bytes a checkpoint has, what is sent is of the
// object, under its number, and an attempt that succeeds tells all records.
func FuzzPutObjectCheckpoint(f *testing.F) {
	const n = 12
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	for _, state := range []putState{{}, {Next: 3, Offset: 21}, whole(putState{Next: 3, Offset: 21, Ahead: "1-4", ETag: "v1"}),
		whole(putState{Next: n, Offset: int64(text.Len()), Output: PutRecordsOutput{StoredRecordCount: n}}), {Next: 2, Ahead: "1-7"}, {Offset: 7}} {
		raw, err := json.Marshal(state)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"next":"3"}`))
	f.Add([]byte(`[]`))
	w := newWorld(f, 1, atOnce)
	w.object(text.String())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			raw, _ = json.Marshal(string(raw))
		}
		w.fresh()
		w.t, w.stream.t, w.stream.stored = t, t, nil
		w.env.SetHeartbeatDetails(json.RawMessage(raw))
		out, err := w.putObject(`"Envelope":true,"Run":"r"`)
		for _, number := range numbersOf(t, w.stream.stored, func(n int) any { return fmt.Sprintf("line %d", n) }) {
			require.Less(t, number, n)
		}
		var panicked *temporal.PanicError
		require.False(t, errors.As(err, &panicked), "%v", err)
		if err != nil {
			require.Contains(t, []string{activities.TypeInvalidInput, activities.TypeConflict}, activities.TypeOf(err), "%v", err)
			return
		}
		require.EqualValues(t, n, out.RecordCount)
	})
}
