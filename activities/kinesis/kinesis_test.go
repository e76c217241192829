package kinesis

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/activities/s3"
	"sluice/internal/recordbatch"
)

func TestPutRecordsKeepsKeyOrderThroughRetries(t *testing.T) {
	w := newWorld(t, 2)
	w.stream.refuse = func(n int, _ string, r recordbatch.Record) string {
		if n < 6 && (int(r.Data[5])+n)%3 == 0 {
			return recordbatch.CodeInternal
		}
		return ""
	}
	out := w.put(numbered(60, 6), `"Ordering":"key"`)
	require.EqualValues(t, 60, out.StoredRecordCount)
	last := map[string]string{}
	for _, r := range w.stream.stored {
		require.Less(t, last[r.Key], string(r.Data), "key %s", r.Key)
		last[r.Key] = string(r.Data)
	}
	for _, call := range w.stream.calls {
		keys := map[string]bool{}
		for _, r := range call {
			require.False(t, keys[r.Key], "two records of a key in a request")
			keys[r.Key] = true
		}
	}
}

func TestPutRecordsKeepsOrderWhereNothingIsRepeated(t *testing.T) {
	w := newWorld(t, 2, func(s *Settings) { s.Limits.Records = 20; s.Shard = recordbatch.Pace{} })
	require.EqualValues(t, 2000, w.put(numbered(2000, 50), "").StoredRecordCount)
	last := map[string]string{}
	for _, r := range w.stream.stored {
		shard := w.stream.shardOf(&r)
		require.Less(t, last[shard], string(r.Data))
		last[shard] = string(r.Data)
	}
}

func TestPutRecordsFailsAtOnceWhenItMayNot(t *testing.T) {
	for code, want := range map[string]string{
		"ResourceNotFoundException": activities.TypeNotFound,
		"AccessDeniedException":     activities.TypeAccessDenied,
		"KMSAccessDeniedException":  activities.TypeAccessDenied,
		"KMSDisabledException":      activities.TypeConflict,
		"KMSNotFoundException":      activities.TypeNotFound,
	} {
		w := newWorld(t, 1)
		w.stream.answer = func(rw http.ResponseWriter, _ int, _ []recordbatch.Record) bool {
			fail(rw, http.StatusBadRequest, code, "no")
			return true
		}
		_, err := w.try(numbered(3, 3), "")
		require.Equal(t, want, activities.TypeOf(err), code)
		details, ok := activities.DetailsOf(err)
		require.True(t, ok)
		require.Equal(t, code, details.Code)
		require.Equal(t, 1, w.stream.callCount())
	}
}

func TestPutRecordsRepeatsWhatIsTransient(t *testing.T) {
	for code, status := range map[string]int{"ProvisionedThroughputExceededException": 400, "LimitExceededException": 400,
		"KMSThrottlingException": 400, "InternalFailure": 500, "ServiceUnavailable": 503} {
		w := newWorld(t, 1)
		w.stream.answer = func(rw http.ResponseWriter, n int, _ []recordbatch.Record) bool {
			if n <= 2 {
				fail(rw, status, code, "later")
			}
			return n <= 2
		}
		out := w.put(numbered(3, 3), "")
		require.EqualValues(t, 3, out.StoredRecordCount, code)
		require.EqualValues(t, 3, out.PutRecordsCalls)
		if status == 500 {
			require.EqualValues(t, 3, out.PossiblyDuplicated, "an internal error does not say how far it got")
		} else {
			require.Zero(t, out.PossiblyDuplicated, code)
		}
	}
}

func TestPutRecordsGivesUpAfterMaxAttempts(t *testing.T) {
	w := newWorld(t, 1)
	w.stream.refuse = func(_ int, _ string, r recordbatch.Record) string {
		if string(r.Data) == "000001" {
			return recordbatch.CodeInternal
		}
		return ""
	}
	out := w.put(numbered(3, 3), `"MaxAttempts":3,"DeadLetter":{"bucket":"dead","prefix":"p/"}`)
	require.EqualValues(t, 2, out.StoredRecordCount)
	require.Equal(t, []FailedRecord{{Index: 1, ErrorCode: recordbatch.CodeInternal, ErrorMessage: "refused", Attempts: 3}}, out.Failed)
	require.Len(t, w.letters.objects, 1)
	for key, body := range w.letters.objects {
		require.True(t, strings.HasPrefix(key, "dead/p/s/"), key)
		var letter deadRecord
		require.NoError(t, json.Unmarshal(body, &letter))
		require.Equal(t, "000001", string(letter.Data))
		require.Equal(t, "key-1", letter.PartitionKey)
	}

	w.fresh()
	_, err := w.try(numbered(3, 3), `"MaxAttempts":1,"OnFailed":"fail"`)
	require.Equal(t, activities.TypeAmbiguous, activities.TypeOf(err))
	details, _ := activities.DetailsOf(err)
	var told PutRecordsOutput
	require.NoError(t, json.Unmarshal(details.Output, &told))
	require.EqualValues(t, 2, told.StoredRecordCount)
}

// TestPutRecordsCountsAttemptsOfBothKinds: those refused singly, and those of
// calls that failed as a whole; a copy that may be stored is counted then, too.
func TestPutRecordsCountsAttemptsOfBothKinds(t *testing.T) {
	w := newWorld(t, 1)
	w.stream.answer = func(rw http.ResponseWriter, n int, _ []recordbatch.Record) bool {
		if n%2 == 0 {
			fail(rw, http.StatusServiceUnavailable, "ServiceUnavailable", "down")
		}
		return n%2 == 0
	}
	w.stream.refuse = func(int, string, recordbatch.Record) string { return recordbatch.CodeThrottled }
	out := w.put(numbered(2, 2), `"MaxAttempts":4`)
	require.EqualValues(t, 2, out.FailedRecordCount)
	require.EqualValues(t, 4, out.PutRecordsCalls)
	require.Equal(t, FailedRecord{Index: 0, ErrorCode: "ServiceUnavailable", ErrorMessage: "down", Attempts: 4}, out.Failed[0])
	require.Zero(t, out.PossiblyDuplicated)
}

func TestPutRecordsListsTheFirstThousandFailures(t *testing.T) {
	w := newWorld(t, 1)
	records := numbered(1500, 1500)
	for i := range records {
		records[i].Key = ""
	}
	out := w.put(records, "")
	require.EqualValues(t, 1500, out.FailedRecordCount)
	require.Len(t, out.Failed, 1000)
	require.EqualValues(t, 999, out.Failed[999].Index)
	require.Zero(t, w.stream.callCount())
}

func TestPutRecordsRefusesBadInputWithAllFaults(t *testing.T) {
	w := newWorld(t, 1)
	_, err := w.env.ExecuteActivity("Kinesis.PutRecords", json.RawMessage(
		`{"StreamName":"no spaces","Ordering":"x","MaxAttempts":0,"Unknown":1,"Records":[{"PartitionKey":"k"},{"Data":5,"PartitionKey":"k","Extra":1},{"Data":"no base64!","PartitionKey":"k"},{"Data":"eA==","PartitionKey":"k"}]}`))
	require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err))
	for _, part := range []string{"StreamName", "Ordering", "MaxAttempts", "Unknown", "Records[0].Data", "Records[1].Data", "Records[1].Extra", "Records[2].Data: not base64"} {
		require.Contains(t, err.Error(), part)
	}
	require.Zero(t, w.stream.callCount())
}

func TestPutRecordsGoesOnFromItsCheckpoint(t *testing.T) {
	w := newWorld(t, 1)
	state := putState{Next: 2, Ahead: "2-3", Output: PutRecordsOutput{StoredRecordCount: 4, Shards: map[string]int64{"shardId-000000000000": 4}}}
	w.env.SetHeartbeatDetails(state)
	out := w.put(numbered(8, 8), "")
	require.EqualValues(t, 8, out.StoredRecordCount)
	require.Zero(t, out.PossiblyDuplicated, "after a clean stop nothing is doubled")
	require.Len(t, w.stream.stored, 4)

	w.fresh()
	state.Reserved = 8 // the worker was lost: what it had not settled may be stored
	w.env.SetHeartbeatDetails(state)
	require.EqualValues(t, 4, w.put(numbered(8, 8), "").PossiblyDuplicated)
}

func TestPutRecordsStopsCleanlyWithTheWorker(t *testing.T) {
	w := newWorld(t, 1)
	stop := make(chan struct{})
	w.env.SetWorkerStopChannel(stop)
	var once sync.Once
	w.stream.refuse = func(call int, _ string, r recordbatch.Record) string {
		if call > 1 { // so the answer to the first was read
			once.Do(func() { close(stop) })
		}
		if r.Key == "key-1" {
			return recordbatch.CodeThrottled
		}
		return ""
	}
	_, err := w.try(numbered(10, 2), `"MaxAttempts":1000`)
	require.Equal(t, activities.TypeWorkerStopping, activities.TypeOf(err))
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	var details activities.ErrorDetails
	var state putState
	require.NoError(t, application.Details(&details, &state))
	require.EqualValues(t, 5, state.Output.StoredRecordCount)
	require.EqualValues(t, 1, state.Next)

	w.fresh()
	w.stream.refuse = nil
	w.env.SetHeartbeatDetails(state)
	out := w.put(numbered(10, 2), "")
	require.EqualValues(t, 10, out.StoredRecordCount)
	require.Zero(t, out.PossiblyDuplicated)
	require.Len(t, w.stream.stored, 10)
}

func TestSmallPutsShareRequests(t *testing.T) {
	w := newWorld(t, 1, func(s *Settings) { s.FlushInterval = time.Second })
	to := defaultDestination()
	to.StreamName = "s"
	done := make(chan error)
	for range 40 {
		go func() {
			_, err := w.kinesis.Send(context.Background(), to, numbered(5, 5))
			done <- err
		}()
	}
	for range 40 {
		require.NoError(t, <-done)
	}
	require.LessOrEqual(t, w.stream.callCount(), 5)
}

// textObject is an object in memory.
type textObject struct {
	body  string
	etag  string
	opens int
}

func (o *textObject) OpenObject(_ context.Context, object s3.Object, offset int64) (io.ReadCloser, s3.Object, error) {
	o.opens++
	if object.ETag != "" && object.ETag != o.etag {
		return nil, object, activities.Fail(activities.TypeConflict, activities.Failure{Message: "changed"})
	}
	object.ETag, object.Size = o.etag, int64(len(o.body))
	return io.NopCloser(strings.NewReader(o.body[min(offset, int64(len(o.body))):])), object, nil
}

func (w *world) object(body string) *textObject {
	o := &textObject{body: body, etag: "v1"}
	w.kinesis.Objects = o
	return o
}

func (w *world) putObject(fields string) (out PutRecordsOutput, err error) {
	if fields != "" {
		fields = "," + fields
	}
	value, err := w.env.ExecuteActivity("Kinesis.PutObject", json.RawMessage(`{"StreamName":"s","Object":{"bucket":"b","key":"k"}`+fields+`}`))
	if err != nil {
		return out, err
	}
	return out, value.Get(&out)
}

func TestPutObjectFormats(t *testing.T) {
	for name, c := range map[string]struct{ body, fields, want string }{
		"lines":       {"a\n\nb\r\nc", "", "a|b|c"},
		"json array":  {`[{"a":1}, 2 ,"x,]"]`, `"Format":"json-array"`, `{"a":1}|2|"x,]"`},
		"csv":         {"id,name\n1,\"a \"\"b\"\"\"\n2,c\n", `"Format":"csv"`, `{"id":"1","name":"a \"b\""}|{"id":"2","name":"c"}`},
		"constant":    {"a\nb\n", "\"PartitionKey\":\"`one`\"", "a|b"},
		"JMESPath":    {`{"k":"x"}` + "\n" + `{"k":7}`, `"PartitionKey":"k"`, `{"k":"x"}|{"k":7}`},
		"envelope":    {`{"a":1}` + "\nplain \"text\"\n", `"Envelope":true,"Run":"r"`, `{"id":"r/b/k#0","data":{"a":1}}` + "\n|" + `{"id":"r/b/k#1","data":"plain \"text\""}` + "\n"},
		"empty":       {"", "", ""},
		"empty array": {" [ ] ", `"Format":"json-array"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.object(c.body)
			out, err := w.putObject(c.fields)
			require.NoError(t, err)
			var got []string
			for _, r := range w.stream.stored {
				got = append(got, string(r.Data))
			}
			require.Equal(t, c.want, strings.Join(got, "|"))
			require.EqualValues(t, len(got), out.RecordCount)
			if name == "constant" {
				require.Equal(t, "one", w.stream.stored[0].Key)
			}
			if name == "JMESPath" {
				require.Equal(t, "7", w.stream.stored[1].Key)
			}
		})
	}
}

func TestPutObjectSetsBadRecordsAside(t *testing.T) {
	w := newWorld(t, 1, func(s *Settings) { s.Limits.RecordBytes = 50 })
	w.object(`{"k":"a"}` + "\nnot json\n" + `{"k":null}` + "\n" + `{"k":"b","long":"` + strings.Repeat("x", 60) + `"}` + "\n" + `{"k":"c"}`)
	out, err := w.putObject(`"PartitionKey":"k"`)
	require.NoError(t, err)
	require.EqualValues(t, 5, out.RecordCount)
	require.EqualValues(t, 2, out.StoredRecordCount)
	require.EqualValues(t, 3, out.FailedRecordCount)
}

// A quote that is never closed costs its own row, which is told; the count is that of
// the rows that the file has.
func TestPutObjectOfARowThatNeverEndsPutsAllOthers(t *testing.T) {
	w := newWorld(t, 1)
	w.object("id,name\n1,x\n2,\"y\n" + strings.Repeat("3,z\n", 500))
	out, err := w.putObject(`"Format":"csv"`)
	require.NoError(t, err)
	require.EqualValues(t, 502, out.RecordCount)
	require.EqualValues(t, 501, out.StoredRecordCount)
	require.Len(t, out.Failed, 1)
	require.EqualValues(t, 1, out.Failed[0].Index)
	require.Contains(t, out.Failed[0].ErrorMessage, "would take in 501 lines")
}

func TestPutObjectPinsTheObjectAndGoesOn(t *testing.T) {
	var body strings.Builder
	for i := range 100 {
		fmt.Fprintf(&body, "%03d\n", i)
	}
	w := newWorld(t, 1)
	w.object(body.String())
	w.env.SetHeartbeatDetails(putState{Next: 40, Offset: 160, Ahead: "2-4", ETag: "v1",
		Output: PutRecordsOutput{StoredRecordCount: 43}})
	out, err := w.putObject("")
	require.NoError(t, err)
	require.EqualValues(t, 100, out.RecordCount)
	require.EqualValues(t, 100, out.StoredRecordCount)
	require.Zero(t, out.PossiblyDuplicated)
	require.Len(t, w.stream.stored, 57)
	require.Equal(t, "040", string(w.stream.stored[0].Data))

	w.fresh()
	w.env.SetHeartbeatDetails(putState{Next: 40, Offset: 160, ETag: "v0"})
	_, err = w.putObject("")
	require.Equal(t, activities.TypeConflict, activities.TypeOf(err))

	w.fresh()
	w.env.SetHeartbeatDetails(putState{Next: 90, Offset: 360, Reserved: 95, ETag: "v1", Output: PutRecordsOutput{StoredRecordCount: 90}})
	out, err = w.putObject("")
	require.NoError(t, err)
	require.EqualValues(t, 5, out.PossiblyDuplicated)
}

func TestPutObjectTakesAnETagWithItsQuotes(t *testing.T) {
	w := newWorld(t, 1, atOnce)
	w.object("a\nb")
	value, err := w.env.ExecuteActivity("Kinesis.PutObject", json.RawMessage(`{"StreamName":"s","Object":{"bucket":"b","key":"k","etag":"\"v1\""}}`))
	require.NoError(t, err)
	var out PutRecordsOutput
	require.NoError(t, value.Get(&out))
	require.EqualValues(t, 2, out.StoredRecordCount)
}

// A put that may not go on for ever tells what it has stored until then, be it the
// stream or the object that is denied.
func TestADeniedPutTellsWhatIsStored(t *testing.T) {
	const records = 60
	var body strings.Builder
	for i := range records {
		fmt.Fprintf(&body, "%03d\n", i)
	}
	denyLater := func(w *world) {
		w.stream.answer = func(rw http.ResponseWriter, n int, _ []recordbatch.Record) bool {
			if n > 2 {
				fail(rw, http.StatusBadRequest, "AccessDeniedException", "not any more")
			}
			return n > 2
		}
	}
	for name, put := range map[string]func(w *world) error{
		"PutObject": func(w *world) error {
			denyLater(w)
			w.object(body.String())
			_, err := w.putObject("")
			return err
		},
		"PutRecords": func(w *world) error {
			denyLater(w)
			_, err := w.try(numbered(records, records), "")
			return err
		},
		"an object that is not there any more": func(w *world) error {
			w.object(body.String()).etag = "v2"
			w.env.SetHeartbeatDetails(putState{Next: 20, Offset: 80, ETag: "v1", Output: PutRecordsOutput{StoredRecordCount: 20}})
			_, err := w.putObject("")
			return err
		},
		"a stream that is not there any more": func(w *world) error {
			w.stream.gone = true
			w.env.SetHeartbeatDetails(putState{Next: 20, Offset: 80, ETag: "v1", Output: PutRecordsOutput{StoredRecordCount: 20}})
			w.object(body.String())
			_, err := w.putObject("")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, atOnce, func(s *Settings) { s.Limits.Records = 10 })
			err := put(w)
			require.Error(t, err)
			details, ok := activities.DetailsOf(err)
			require.True(t, ok, err)
			var told PutRecordsOutput
			require.NoError(t, json.Unmarshal(details.Output, &told), "%v", err)
			require.EqualValues(t, 20, told.StoredRecordCount)
			require.EqualValues(t, 20, told.RecordCount)
			require.ErrorContains(t, err, "; 20 records are stored")
			if w.stream.callCount() > 0 {
				require.Len(t, w.stream.stored, 20)
			}
		})
	}
}

// One stream has one producer on a worker, so that what it keeps of shards and pace
// holds for all calls; a stream of another account has its own, whatever its name.
func TestAStreamByNameAndByARNIsOneProducer(t *testing.T) {
	const arn, other = "arn:aws:kinesis:us-east-1:123456789012:stream/s", "arn:aws:kinesis:us-east-1:999999999999:stream/s"
	for name, order := range map[string][]streamName{
		"name first":     {{name: "s"}, {arn: arn}, {name: "s", arn: arn}},
		"ARN first":      {{arn: arn}, {name: "s"}, {name: "s", arn: arn}},
		"both first":     {{name: "s", arn: arn}, {name: "s"}, {arn: arn}},
		"after another":  {{arn: other}, {name: "s"}, {arn: arn}},
		"before another": {{name: "s"}, {arn: other}, {arn: arn}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.stream.arn = arn
			got := map[streamName]*stream{}
			for range 2 {
				for _, n := range order {
					s, err := w.kinesis.stream(t.Context(), n)
					require.NoError(t, err)
					if got[n] != nil {
						require.Same(t, got[n], s)
					}
					got[n] = s
				}
			}
			for n, s := range got {
				for m, o := range got {
					require.Equal(t, (n.arn == other) == (m.arn == other), s == o, "%v and %v", n, m)
				}
			}
			require.LessOrEqual(t, w.stream.described, 2)
		})
	}
}

// Where it may not be asked what ARN a stream has, calls by name and by ARN go on.
func TestAStreamThatMayNotBeDescribedTakesRecordsByBothNames(t *testing.T) {
	w := newWorld(t, 1)
	for _, n := range []streamName{{name: "s"}, {arn: "arn:aws:kinesis:us-east-1:123456789012:stream/s"}} {
		out, err := w.kinesis.Send(t.Context(), Destination{StreamName: n.name, StreamARN: n.arn, MaxAttempts: 3}, numbered(5, 5))
		require.NoError(t, err)
		require.EqualValues(t, 5, out.StoredRecordCount)
	}
}

func TestPutObjectRefusesWhatIsNotOfItsFormat(t *testing.T) {
	for _, c := range []struct{ body, format string }{
		{`{"a":1}`, "json-array"}, {`[1,2`, "json-array"}, {`[1] x`, "json-array"}, {`[1}`, "json-array"},
		{"a,b\"c\n1,2\n", "csv"},
		{"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03cut", "lines"}, {"\x1f\x8b", "lines"}, {"\x28\xb5\x2f\xfd", "lines"},
		{"\xff\xfea\x00\n\x00", "lines"}, {"BZh91AY&SY\x0d\x9a", "lines"}, {"PK\x03\x04\x14", "csv"}, {"a\x00b\n", "lines"},
	} {
		w := newWorld(t, 1)
		w.object(c.body)
		_, err := w.putObject(`"Format":"` + c.format + `"`)
		require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err), "%q: %v", c.body, err)
	}
}
