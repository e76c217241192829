package kinesis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"go.temporal.io/sdk/activity"

	"sluice/activities"
	"sluice/activities/s3"
	"sluice/internal/document"
	"sluice/internal/objectrecords"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
)

// PutObjectInput is the input of Kinesis.PutObject.
type PutObjectInput struct {
	Destination
	Object       s3.Object `json:"Object" doc:"required"`
	Format       string    `json:"Format"`       // "lines", "json-array" or "csv"
	PartitionKey string    `json:"PartitionKey"` // JMESPath, a constant in backquotes, or "": hash of the record
	Envelope     bool      `json:"Envelope"`     // {"id":"<run>/<bucket>/<key>#<n>","data":…} and a newline
	Run          string    `json:"Run"`          // names the run; "": the calling workflow's ID
}

// windowRecords is how far records may be sent beyond the first that is not
// settled: what the checkpoint can tell one by one.
const windowRecords = 1 << 16

// aheadLeast and aheadMost bound how many records a mark admits beyond those
// that were sent: about two seconds' worth.
const (
	aheadLeast = 4096
	aheadMost  = 1 << 16
)

// chunkBytes and chunkRecords are what is read before it is queued.
const (
	chunkBytes   = 256 << 10
	chunkRecords = 500
)

// PutObject puts the records of an S3 object to a stream, like PutRecords, in
// constant memory. The object's version is pinned at the first attempt; another
// one is a Conflict.
//
// A repeat goes on behind the last record up to which all are settled, and
// passes over those that were settled beyond. A worker's clean stop doubles
// nothing; after a lost worker at most what was in flight, or was sent since its
// last heartbeat, goes twice and is counted as PossiblyDuplicated.
//
// Errors as PutRecords; Conflict also when the object has changed; InvalidInput
// when the object is not of its format; Unavailable and Throttled when it can't
// be read, with the checkpoint.
func (k *Activities) PutObject(ctx context.Context, raw json.RawMessage) (PutRecordsOutput, error) {
	input := PutObjectInput{Destination: defaultDestination(), Format: objectrecords.Lines}
	faults := document.Decode(raw, &input)
	input.Check(&faults)
	key, err := objectrecords.NewKey(input.PartitionKey)
	if err != nil {
		faults.Add("PartitionKey", "%v", err)
	}
	if err := faults.Err(); err != nil {
		return PutRecordsOutput{}, activities.Invalid(wire.KinesisPutObject, err)
	}
	input.Object.ETag = s3.PlainETag(input.Object.ETag)
	if input.Run == "" {
		input.Run = activity.GetInfo(ctx).WorkflowExecution.ID
	}
	p := &objectPut{k: k, input: input, key: key}
	if input.Envelope {
		envelope := objectrecords.NewEnvelope(input.Run, input.Object.Bucket, input.Object.Key)
		p.envelope = &envelope
	}
	if err := p.begin(ctx); err != nil {
		return PutRecordsOutput{}, err
	}
	if err := p.run(ctx); err != nil {
		return PutRecordsOutput{}, err
	}
	p.call.output.RecordCount = p.next
	return p.call.result(wire.KinesisPutObject, input.Destination)
}

// Check adds what is wrong with the input.
func (in *PutObjectInput) Check(faults *document.Faults) {
	in.Destination.Check(faults)
	switch in.Format {
	case objectrecords.Lines, objectrecords.JSONArray, objectrecords.CSV:
	default:
		faults.Add("Format", `must be "lines", "json-array" or "csv", not %q`, in.Format)
	}
}

// objectPut is one attempt to put an object.
type objectPut struct {
	k        *Activities
	input    PutObjectInput
	key      objectrecords.Key
	envelope *objectrecords.Envelope

	enveloped []byte // memory to make an envelope in
	stream    *stream
	call      *putCall
	from      putState // the checkpoint that this attempt began with
	marker    *marker
	certain   atomic.Bool // where the attempt began is known to be right
	next      int64       // number of the next record that is read
	sent      atomic.Int64
	marked    int64 // what sent was at the last mark
	ahead     atomic.Int64
	source    io.ReadCloser
	coded     atomic.Pointer[putPin]
	records   objectrecords.Reader
}

// putPin is what the first attempt finds out about the object.
type putPin struct {
	etag, coding string
	size         int64 // as stored; 0 where it isn't told
}

// begin takes up the checkpoint.
func (p *objectPut) begin(ctx context.Context) error {
	from, progress, _, err := takeUp(ctx, wire.KinesisPutObject, windowRecords)
	if err != nil {
		return err
	}
	if err := from.misplaced(); err != nil {
		return badCheckpoint(wire.KinesisPutObject, err)
	}
	p.from = from
	if from.ETag != "" {
		p.input.Object.ETag = from.ETag
	}
	p.call = newPutCall(recordbatch.Call{Keyed: p.input.Ordering == wire.OrderingKey, Aggregate: p.input.Aggregate,
		MaxAttempts: p.input.MaxAttempts}, progress, from.Output)
	p.call.letters = p.input.DeadLetter.on()
	p.call.ends = recordbatch.NewEnds(from.Next, from.Offset, windowRecords)
	p.certain.Store(from.Next == 0 || from.Seal != "")
	p.next = from.Next
	p.sent.Store(p.next)
	if p.stream, err = p.k.stream(ctx, p.input.stream()); err != nil {
		return withState(err, from)
	}
	return nil
}

// run puts the object's records until its end.
func (p *objectPut) run(ctx context.Context) error {
	marker, alive, stop := startMarker(ctx, p.k.recorder(ctx), p.state)
	defer stop()
	p.marker = marker
	err := p.open(alive)
	if err == nil {
		defer func() { _ = p.source.Close() }()
		err = p.putAll(alive)
	}
	if err != nil || p.call.refusal() != nil {
		p.stream.giveUp(p.call, activities.WorkerIsStopping(alive))
	}
	interrupted := activities.Interrupted(alive, wire.KinesisPutObject, p.clean())
	stop()
	return p.end(ctx, interrupted, err)
}

// putAll reads and puts all records and sees every one settled.
func (p *objectPut) putAll(ctx context.Context) error {
	if err := p.makeCertain(ctx); err != nil {
		return err
	}
	if err := p.feed(ctx); err != nil {
		return err
	}
	p.stream.last()
	if err := p.stream.settled(ctx, p.call); err != nil {
		return err
	}
	if err := p.k.writeLetters(ctx, p.input.Destination, p.call, p.name()); err != nil {
		return err
	}
	if n := p.call.settledCount(); n > p.next {
		return badCheckpoint(wire.KinesisPutObject, fmt.Errorf("it has %d records settled, %s has %d", n, p.name(), p.next))
	}
	return nil
}

// makeCertain reads up to where a checkpoint without a seal says that the attempt
// goes on, to see that the record lies there.
func (p *objectPut) makeCertain(ctx context.Context) error {
	if p.certain.Load() {
		return nil
	}
	var last objectrecords.Record
	for n := range p.from.Next {
		record, err := p.records.Next()
		if err == io.EOF {
			return badCheckpoint(wire.KinesisPutObject, fmt.Errorf("it goes on at record %d, %s has %d", p.from.Next, p.name(), n))
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		last = record
	}
	if last.End != p.from.Offset {
		return badCheckpoint(wire.KinesisPutObject, fmt.Errorf("record %d of %s begins at byte %d, not %d", p.from.Next, p.name(), last.End, p.from.Offset))
	}
	p.certain.Store(true)
	return nil
}

// end is the attempt's own end: its error with what is still owed.
func (p *objectPut) end(ctx context.Context, interrupted, err error) error {
	if refusal := p.call.refusal(); refusal != nil {
		clean := p.clean()
		return deniedError(p.input.stream(), *refusal, &clean)
	}
	if err == nil {
		return nil
	}
	clean := p.clean()
	_ = p.k.recorder(ctx)(context.WithoutCancel(ctx), clean) // what isn't recorded comes in the error
	if interrupted != nil {
		return interrupted
	}
	return withState(p.notOfFormat(err), clean)
}

func (p *objectPut) name() string { return p.input.Object.Bucket + "/" + p.input.Object.Key }

// open opens the object where the attempt begins, or at its beginning where it
// isn't certain that the checkpoint is right.
func (p *objectPut) open(ctx context.Context) error {
	start := p.from.Offset
	if !p.certain.Load() {
		start = 0
	}
	coding, offset := p.from.Coding, start
	if coding != objectrecords.Identity {
		offset = 0 // compressed text is decoded from its beginning
	}
	body, object, err := p.k.Objects.OpenObject(ctx, p.input.Object, offset)
	if err != nil {
		return err
	}
	var text io.Reader = body
	if offset == 0 {
		if coding, text, err = objectrecords.Recognise(body); err != nil {
			_ = body.Close()
			return err
		}
	}
	p.input.Object.ETag = object.ETag
	p.coded.Store(&putPin{object.ETag, coding, object.Size})
	decoded, err := objectrecords.Decode(coding, text)
	if err != nil {
		_ = body.Close()
		return p.notOfFormat(err)
	}
	p.source = s3.CloseBoth(decoded, body)
	header, err := p.header(ctx, decoded, start, offset)
	if err == nil {
		p.records, err = objectrecords.NewReader(p.input.Format, decoded, start, header)
	}
	if err != nil {
		_ = p.source.Close()
	}
	return p.notOfFormat(err)
}

// notOfFormat is err, as InvalidInput where it tells of the object's text; one of
// the connection stays what it is.
func (p *objectPut) notOfFormat(err error) error {
	var format *objectrecords.FormatError
	if errors.As(err, &format) {
		return activities.Invalid(wire.KinesisPutObject+" "+p.name(), format)
	}
	return err
}

// header reads a CSV's header again where an attempt begins behind it, and
// skips to where it begins in decoded text.
func (p *objectPut) header(ctx context.Context, decoded io.Reader, start, opened int64) (header []string, err error) {
	if start == 0 {
		return nil, nil
	}
	if p.input.Format == objectrecords.CSV {
		if header, err = p.readHeader(ctx); err != nil {
			return nil, err
		}
	}
	if opened == 0 {
		_, err = io.CopyN(io.Discard, decoded, start)
	}
	return header, err
}

func (p *objectPut) readHeader(ctx context.Context) ([]string, error) {
	body, _, err := p.k.Objects.OpenObject(ctx, p.input.Object, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	decoded, err := objectrecords.Decode(p.coded.Load().coding, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = decoded.Close() }()
	return objectrecords.Header(decoded)
}
