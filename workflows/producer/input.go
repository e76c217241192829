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

// addInput is the input of `add`.
type addInput struct {
	Records json.RawMessage `json:"records" doc:"required"`

	records   []recordbatch.Buffered
	onlySizes bool // nothing but the size of records is wrong
}

// CheckAdd tells what is wrong with the input of an `add` whatever the Producer:
// InvalidInput with all faults, or TooLarge. Whoever adds many records in parts
// asks before the first.
func CheckAdd(raw json.RawMessage) error {
	return shell.Decode(wire.TypeProducer+" "+wire.UpdateAdd, raw, &addInput{})
}

// Check reads the records and reports all that is wrong with them.
func (in *addInput) Check(faults *document.Faults) {
	var records []recordbatch.Record
	if len(in.Records) > 0 && !faults.Has("records") {
		records = recordbatch.ReadRecords(in.Records, func(record int, field, message string) {
			faults.Add(recordPath(record, field), "%s", message)
		})
	}
	in.onlySizes = len(*faults) == 0
	in.records = make([]recordbatch.Buffered, len(records))
	for i := range records {
		for _, fault := range recordFaults(&records[i]) {
			if path := recordPath(i, fault.field); !faults.Has(path) {
				in.onlySizes = in.onlySizes && fault.Code == recordbatch.CodeRecordTooLarge
				faults.Add(path, "%s", fault.Message)
			}
		}
		in.records[i] = records[i].Buffer()
	}
}

// RefusedAs is TooLarge when nothing but the size of records is wrong.
func (in *addInput) RefusedAs() string {
	if in.onlySizes {
		return activities.TypeTooLarge
	}
	return activities.TypeInvalidInput
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

// flushInput is the input of `flush`.
type flushInput struct {
	Wait duration.Duration `json:"wait"` // for the answer
	Stop bool              `json:"stop"` // stop as well
}

// Check implements checker.
func (in *flushInput) Check(faults *document.Faults) {
	if in.Wait.Std() > time.Minute {
		faults.Add("wait", "must be at most 1m, not %s; a flush may be asked again", in.Wait)
	}
}

func defaultFlush() flushInput { return flushInput{Wait: duration.Duration(30 * time.Second)} }
