package producer

import (
	"encoding/json"
	"regexp"
	"time"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Input starts a Producer.
type Input struct {
	Stream        string            `json:"stream" doc:"required"`
	BatchSize     int               `json:"batchSize"`     // records in a batch, 1 to 500
	FlushInterval duration.Duration `json:"flushInterval"` // a record's longest wait for a fuller batch; 0: only full batches and flushes go
	BufferSize    int               `json:"bufferSize"`    // records
	BufferBytes   int               `json:"bufferBytes"`   // of encoded JSON, at most 1.25 MiB
	MaxAttempts   int               `json:"maxAttempts"`   // a record is refused so often before it is dropped
	Ordering      string            `json:"ordering"`      // "key" or "none"
	DropWhenFull  bool              `json:"dropWhenFull"`  // give up the oldest batch in a long outage
}

// maxBufferBytes keeps what a run carries under 1.75 MiB, events and all.
const maxBufferBytes = 1280 << 10

func defaultInput() Input {
	return Input{
		BatchSize:     500,
		FlushInterval: duration.Duration(time.Second),
		BufferSize:    10000,
		BufferBytes:   1 << 20,
		MaxAttempts:   10,
		Ordering:      wire.OrderingKey,
	}
}

// CheckInput tells what is wrong with the input of a new run of that ID, as the run
// would.
func CheckInput(id string, raw json.RawMessage) error {
	in := defaultInput()
	return shell.CheckInput(wire.TypeProducer, id, raw, &in)
}

var streamName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,128}$`)

// Check implements checker.
func (in *Input) Check(faults *document.Faults) {
	between := func(path string, n, low, high int) {
		if n < low || n > high {
			faults.Add(path, "must be %d to %d, not %d", low, high, n)
		}
	}
	if in.Stream == "" && !faults.Has("stream") {
		faults.Add("stream", "must not be empty")
	}
	if in.Stream != "" && !streamName.MatchString(in.Stream) {
		faults.Add("stream", "%q is not a stream name of 1 to 128 letters, digits, _ . and -", in.Stream)
	}
	between("batchSize", in.BatchSize, 1, recordbatch.MaxRequestRecords)
	between("bufferSize", in.BufferSize, 1, 100_000)
	between("bufferBytes", in.BufferBytes, 1, maxBufferBytes)
	between("maxAttempts", in.MaxAttempts, 1, 1_000_000)
	if interval := in.FlushInterval.Std(); interval != 0 && interval < 50*time.Millisecond {
		faults.Add("flushInterval", "must be 0 or at least 50ms, not %s", in.FlushInterval)
	}
	if in.FlushInterval == 0 && in.BufferSize < in.BatchSize {
		faults.Add("bufferSize", "%d is less than batchSize %d, and without flushInterval a batch would wait for ever", in.BufferSize, in.BatchSize)
	}
	if in.Ordering != wire.OrderingKey && in.Ordering != wire.OrderingNone {
		faults.Add("ordering", `must be "key" or "none", not %q`, in.Ordering)
	}
}

func (in *Input) bounds() recordbatch.Bounds {
	return recordbatch.Bounds{Records: in.BufferSize, Bytes: in.BufferBytes}
}

// addMessage is the input of `add`.
type addMessage struct {
	Records json.RawMessage `json:"records" doc:"required"`
}

// CheckAdd tells what is wrong with the input of an `add` whatever the Producer:
// InvalidInput with all faults, or TooLarge. Whoever adds many records in parts
// asks before the first.
func CheckAdd(raw json.RawMessage) error {
	_, err := readAdd(raw)
	return err
}

// readAdd reads an `add` and checks its records, all faults at once. It is
// TooLarge when nothing but the size of records is wrong.
func readAdd(raw json.RawMessage) ([]recordbatch.Buffered, error) {
	var m addMessage
	faults := document.Decode(raw, &m)
	var records []recordbatch.Record
	if len(m.Records) > 0 && !faults.Has("records") {
		records = recordbatch.ReadRecords(m.Records, func(record int, field, message string) {
			faults.Add(recordPath(record, field), "%s", message)
		})
	}
	onlySizes := len(faults) == 0
	for i := range records {
		for _, fault := range recordFaults(&records[i]) {
			if path := recordPath(i, fault.field); !faults.Has(path) {
				onlySizes = onlySizes && fault.Code == recordbatch.CodeRecordTooLarge
				faults.Add(path, "%s", fault.Message)
			}
		}
	}
	switch err := faults.Err(); {
	case err == nil:
	case onlySizes:
		return nil, tooLarge(wire.UpdateAdd, err.Error())
	default:
		return nil, activities.Invalid(wire.UpdateAdd, err)
	}
	buffered := make([]recordbatch.Buffered, len(records))
	for i := range records {
		buffered[i] = records[i].Buffer()
	}
	return buffered, nil
}

// recordFault is what is wrong with a field of a record, or with the whole ("").
type recordFault struct {
	field string
	recordbatch.Fault
}

// recordFaults tells all that is wrong with a record: of its size, its key and
// its hash key.
func recordFaults(r *recordbatch.Record) (all []recordFault) {
	limits := recordbatch.Limits{RecordBytes: maxBufferBytes}
	if fault := limits.Check(r); fault != nil && fault.Code == recordbatch.CodeRecordTooLarge {
		all = append(all, recordFault{"", *fault})
	}
	if fault := limits.Check(&recordbatch.Record{Key: r.Key}); fault != nil && fault.Code == recordbatch.CodeBadKey {
		all = append(all, recordFault{"PartitionKey", *fault})
	}
	if fault := limits.Check(&recordbatch.Record{Key: "k", HashKey: r.HashKey}); fault != nil {
		all = append(all, recordFault{"ExplicitHashKey", *fault})
	}
	return all
}

func recordPath(record int, field string) string {
	path := "records"
	if record >= 0 {
		path = document.Index(path, record)
	}
	if field != "" {
		path = document.Join(path, field)
	}
	return path
}

func tooLarge(operation, message string) error {
	return activities.Fail(activities.TypeTooLarge, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: operation}, Message: message})
}

// flushMessage is the input of `flush`.
type flushMessage struct {
	Wait duration.Duration `json:"wait"` // for the answer
	Stop bool              `json:"stop"` // stop as well
}

// Check implements checker.
func (m *flushMessage) Check(faults *document.Faults) {
	if m.Wait.Std() > time.Minute {
		faults.Add("wait", "must be at most 1m, not %s; a flush may be asked again", m.Wait)
	}
}

func readFlush(raw json.RawMessage) (flushMessage, error) {
	m := flushMessage{Wait: duration.Duration(30 * time.Second)}
	return m, shell.Decode(wire.UpdateFlush, raw, &m)
}

// noInput is the input of messages that take none.
type noInput struct{}
