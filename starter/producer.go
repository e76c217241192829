package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/workflows"
	"sluice/workflows/producer"
)

// producerCmd is the group of durable buffers.
type producerCmd struct {
	Run    producerRunCmd    `cmd:"" help:"Start the durable buffer in front of a stream."`
	Add    producerAddCmd    `cmd:"" help:"Add records; waits and repeats while the buffer is full."`
	Flush  producerFlushCmd  `cmd:"" help:"Send all that was accepted so far."`
	Start  producerStartCmd  `cmd:"" help:"Send again after stop."`
	Stop   producerStopCmd   `cmd:"" help:"Send no more; what is buffered stays."`
	Status producerStatusCmd `cmd:"" help:"Show what is buffered, sent and dropped."`
	Events producerEventsCmd `cmd:"" help:"Show the last 100 errors."`
}

// streamArg names the stream that a producer writes to.
type streamArg struct {
	Stream string `arg:"" help:"The stream, or the workflow ID producer/STREAM."`
}

func (s streamArg) id() string { return workflows.ProducerID(producerStream(s.Stream)) }

// producerStream is the stream that is named, by itself or by the workflow ID of
// its Producer. No stream has a slash in its name.
func producerStream(named string) string {
	if stream, ok := workflows.ProducerStream(named); ok {
		return stream
	}
	return named
}

type producerRunCmd struct {
	fileFlag
	Stream        string `arg:"" optional:"" help:"The stream; else the document has it."`
	ID            string `help:"The same as its workflow ID." placeholder:"producer/STREAM"`
	BatchSize     int    `help:"Records in a batch, 1 to 500." placeholder:"500"`
	FlushInterval string `help:"Longest wait of a record for company." placeholder:"1s"`
	BufferSize    int    `help:"Records that the buffer holds." placeholder:"10000"`
	BufferBytes   int    `help:"Bytes of JSON that the buffer holds, at most 1.25 MiB." placeholder:"1048576"`
	MaxAttempts   int    `help:"How often a record is refused before it is dropped." placeholder:"10"`
	Ordering      string `help:"key or none." placeholder:"key"`
	DropWhenFull  bool   `help:"In a long outage give up the oldest batch of a full buffer."`
}

func (p producerRunCmd) Run(a *app) error {
	if p.Stream != "" && p.ID != "" {
		return usage("give the stream or --id, not both")
	}
	input, err := a.document(p.fileFlag, field{"stream", producerStream(cmp.Or(p.Stream, p.ID))}, field{"batchSize", p.BatchSize}, field{"flushInterval", p.FlushInterval},
		field{"bufferSize", p.BufferSize}, field{"bufferBytes", p.BufferBytes}, field{"maxAttempts", p.MaxAttempts},
		field{"ordering", p.Ordering}, field{"dropWhenFull", p.DropWhenFull})
	if err != nil {
		return err
	}
	var named struct {
		Stream string `json:"stream"`
	}
	if err := json.Unmarshal(input, &named); err != nil || named.Stream == "" {
		return usage("name the stream")
	}
	return a.startAndWait(launch{
		workflowType: workflows.TypeProducer, id: workflows.ProducerID(named.Stream), input: input, target: named.Stream,
		options: client.StartWorkflowOptions{StaticSummary: "Durable buffer in front of the stream " + named.Stream},
	}, false, nil)
}

type producerAddCmd struct {
	streamArg
	fileFlag
	Data         string        `help:"The text of one record, in place of a document." placeholder:"TEXT"`
	PartitionKey string        `help:"Its partition key." placeholder:"KEY"`
	GiveUp       time.Duration `help:"How long to wait while the buffer is full." default:"10m"`
}

// What one update takes: more is sent in several.
const (
	addRecords = 500
	addBytes   = 256 << 10
)

func (p producerAddCmd) Run(a *app) error {
	records, err := p.records(a)
	if err != nil {
		return err
	}
	// What is wrong is told of all, before the first part is accepted.
	if whole, err := addDocument(records); err != nil {
		return err
	} else if err := producer.CheckAdd(whole); err != nil {
		return err
	}
	total := producer.AddAnswer{}
	until := time.Now().Add(p.GiveUp)
	for first := true; first || len(records) > 0; first = false {
		n, bytes := 0, 0
		for n < len(records) && n < addRecords && (n == 0 || bytes+len(records[n]) <= addBytes) {
			bytes += len(records[n])
			n++
		}
		answer, err := a.addPatiently(p.id(), records[:n], until)
		if err != nil {
			if total.Accepted > 0 {
				a.note("records accepted before: %d", total.Accepted)
			}
			return err
		}
		total.Accepted, total.Buffered = total.Accepted+answer.Accepted, answer.Buffered
		records = records[n:]
	}
	return a.result(total)
}

// records are those of the document, a list or {"records":[…]}, or the one of
// the flags.
func (p producerAddCmd) records(a *app) (records []json.RawMessage, err error) {
	if (p.File == "") == (p.Data == "" && p.PartitionKey == "") {
		return nil, usage("give a document with -f, or --data and --partition-key")
	}
	if p.File == "" {
		record, err := json.Marshal(map[string]string{
			"Data": base64.StdEncoding.EncodeToString([]byte(p.Data)), "PartitionKey": p.PartitionKey})
		return []json.RawMessage{record}, err
	}
	read, err := a.readFile(p.File)
	if err != nil {
		return nil, err
	}
	raw, err := toJSON(read)
	if err != nil {
		return nil, usage("%s: %v", p.File, err)
	}
	if json.Unmarshal(raw, &records) == nil {
		return records, nil
	}
	var document struct {
		Records []json.RawMessage `json:"records"`
	}
	if err := json.Unmarshal(raw, &document); err != nil || document.Records == nil {
		return nil, usage("%s: a list of records, or {\"records\":[…]}, is expected", p.File)
	}
	return document.Records, nil
}

// addDocument is the input of an `add`.
func addDocument(records []json.RawMessage) (json.RawMessage, error) {
	if records == nil {
		records = []json.RawMessage{}
	}
	return json.Marshal(map[string]any{"records": records})
}

// addPatiently asks again while the buffer is full, after the delay that it
// names.
func (a *app) addPatiently(id string, records []json.RawMessage, until time.Time) (answer producer.AddAnswer, err error) {
	input, err := addDocument(records)
	if err != nil {
		return answer, err
	}
	for told := false; ; {
		raw, err := a.update(id, workflows.UpdateAdd, input)
		if err == nil {
			return answer, json.Unmarshal(raw, &answer)
		}
		var refusal *temporal.ApplicationError
		if !errors.As(err, &refusal) || refusal.Type() != activities.TypeThrottled || time.Now().After(until) {
			return answer, err
		}
		if !told {
			a.note("%s; waiting", refusal.Message())
			told = true
		}
		select {
		case <-time.After(max(refusal.NextRetryDelay(), 200*time.Millisecond)):
		case <-a.ctx.Done():
			return answer, a.ctx.Err()
		}
	}
}

type producerFlushCmd struct {
	streamArg
	AnswerWithin string `name:"answer-within" help:"How long to wait for the end, at most 1m." placeholder:"30s"`
	AndStop      bool   `name:"stop" help:"Stop as well."`
}

func (p producerFlushCmd) Run(a *app) error {
	input, err := overlay(json.RawMessage("{}"), []field{{"wait", p.AnswerWithin}, {"stop", p.AndStop}})
	if err != nil {
		return err
	}
	raw, err := a.update(p.id(), workflows.UpdateFlush, input)
	if err != nil {
		return err
	}
	var answer producer.FlushAnswer
	if err := errors.Join(json.Unmarshal(raw, &answer), a.result(raw)); err != nil {
		return err
	}
	if answer.Remaining > 0 {
		return a.notSentYet(p.id(), answer.Remaining)
	}
	return nil
}

// notSentYet ends a flush that has not sent all, with the reason where one is
// known.
func (a *app) notSentYet(id string, remaining int) error {
	seen, err := a.seeStatus(id)
	if err != nil {
		return err
	}
	t, err := a.troubleOf(seen)
	if err != nil {
		return err
	}
	words := counted(remaining, "record") + " not sent yet"
	if !t.None() {
		words += "; " + t.String()
	}
	return exit{exitAlive, words}
}

type producerStartCmd struct{ streamArg }

func (p producerStartCmd) Run(a *app) error {
	return a.printUpdate(p.id(), workflows.UpdateStart, json.RawMessage("{}"))
}

type producerStopCmd struct{ streamArg }

func (p producerStopCmd) Run(a *app) error {
	return a.printUpdate(p.id(), workflows.UpdateStop, json.RawMessage("{}"))
}

type producerStatusCmd struct {
	streamArg
	tableFlag
}

func (p producerStatusCmd) Run(a *app) error { return a.status(p.tableFlag, p.id()) }

type producerEventsCmd struct {
	streamArg
	tableFlag
}

func (p producerEventsCmd) Run(a *app) error {
	events, err := a.query(p.id(), workflows.QueryEvents)
	if err != nil {
		return err
	}
	return a.rows(p.tableFlag, events)
}
