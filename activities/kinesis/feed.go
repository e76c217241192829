package kinesis

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/activities"
	"sluice/internal/errortype"
	"sluice/internal/objectrecords"
	"sluice/internal/recordbatch"
)

// feed reads the object's records and queues them, a chunk at a time.
func (p *objectPut) feed(ctx context.Context) error {
	for {
		chunk, err := p.read(ctx)
		if err != nil && err != io.EOF {
			return err
		}
		if e := p.queue(ctx, chunk); e != nil {
			return e
		}
		if p.call.refusal() != nil || err == io.EOF {
			return nil
		}
		if p.call.lettersDue() {
			if err := p.k.writeLetters(ctx, p.input.Destination, p.call, p.name()); err != nil {
				return err
			}
		}
	}
}

// chunk gathers records whose data and keys share memory.
type chunk struct {
	*recordbatch.Chunk
	block []byte
	keys  []byte
	ends  []int // of the keys
	bytes int
}

// read gathers the next chunk; io.EOF comes with the last one.
func (p *objectPut) read(ctx context.Context) (*chunk, error) {
	c := &chunk{Chunk: p.stream.chunk(), block: make([]byte, 0, chunkBytes)}
	most := min(chunkRecords, p.k.Settings.Limits.Records) // no more than goes out at once
	err := ctx.Err()
	for err == nil && len(c.Items) < most && c.bytes < chunkBytes {
		var record objectrecords.Record
		if record, err = p.records.Next(); err != nil {
			break
		}
		n := p.next
		if err = p.waitWindow(ctx, n); err != nil {
			break
		}
		p.next++
		if !p.call.took(record.End) {
			p.take(c, n, &record)
		}
	}
	p.nameKeys(c)
	return c, err
}

// waitWindow waits until the end of record n could be noted.
func (p *objectPut) waitWindow(ctx context.Context, n int64) error {
	for !p.call.fits(n) {
		if p.call.refusal() != nil {
			return nil
		}
		// Failed records hold the window back until they are kept elsewhere.
		if err := p.k.writeLetters(ctx, p.input.Destination, p.call, p.name()); err != nil {
			return err
		}
		if p.call.fits(n) {
			return nil
		}
		p.stream.flush()
		select {
		case <-p.call.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// take adds a record to the chunk, or sets it aside.
func (p *objectPut) take(c *chunk, n int64, record *objectrecords.Record) {
	if record.Bad != "" {
		p.call.setAside(n, &recordbatch.Record{Data: append([]byte{}, record.Data...)},
			recordbatch.Fault{Code: "MalformedRecord", Message: record.Bad})
		return
	}
	if record.Size > int64(len(record.Data)) {
		p.call.setAside(n, &recordbatch.Record{Data: append([]byte{}, record.Data...)}, recordbatch.Fault{
			Code:    recordbatch.CodeRecordTooLarge,
			Message: fmt.Sprintf("the record has %d bytes, the limit is %d", record.Size, p.k.Settings.Limits.RecordBytes)})
		return
	}
	if need := len(record.Data) + 4096; p.envelope != nil && cap(c.block)-len(c.block) < need {
		c.block = make([]byte, 0, max(chunkBytes, need))
	} else if cap(c.block)-len(c.block) < len(record.Data) {
		c.block = make([]byte, 0, max(chunkBytes, len(record.Data)))
	}
	from := len(c.block)
	if p.envelope != nil {
		c.block = p.envelope.Append(c.block, n, record.Data)
	} else {
		c.block = append(c.block, record.Data...)
	}
	item := recordbatch.Item{Call: &p.call.rules, Index: n, Unsure: n < p.from.Reserved}
	item.Data = c.block[from:len(c.block):len(c.block)]
	var bad string
	if c.keys, bad = p.key.Append(c.keys, record.Data); bad != "" {
		p.call.setAside(n, &item.Record, recordbatch.Fault{Code: recordbatch.CodeBadKey, Message: bad})
		return
	}
	c.Items = append(c.Items, item)
	c.ends = append(c.ends, len(c.keys))
	c.bytes += len(item.Data)
}

// nameKeys gives the items their keys, cut from one string, and sets those
// aside that are not fit to be sent.
func (p *objectPut) nameKeys(c *chunk) {
	all := string(c.keys)
	fit := c.Items[:0]
	from := 0
	for i := range c.Items {
		item := c.Items[i]
		item.Key = all[from:c.ends[i]]
		from = c.ends[i]
		if fault := p.k.Settings.Limits.Check(&item.Record); fault != nil {
			p.call.setAside(item.Index, &item.Record, *fault)
			continue
		}
		fit = append(fit, item)
	}
	c.Items = fit
}

// queue pushes a chunk once the mark admits that it was sent.
func (p *objectPut) queue(ctx context.Context, c *chunk) error {
	if len(c.Items) == 0 {
		return nil
	}
	last := c.Items[len(c.Items)-1].Index
	if err := p.marker.may(ctx, last); err != nil {
		return err
	}
	if p.marker.nearly(last, p.ahead.Load()) {
		p.marker.soon()
	}
	p.sent.Store(last + 1)
	return p.stream.queueUp(ctx, p.call, c.Chunk, p.input.Aggregate)
}

// state is the checkpoint that admits what may be sent until the next mark.
func (p *objectPut) state() putState {
	sent := p.sent.Load()
	p.ahead.Store(min(aheadMost, max(aheadLeast, 2*(sent-p.marked))))
	p.marked = sent
	reserved := p.from.Reserved
	pin := p.coded.Load()
	if pin != nil {
		// Nothing is admitted before the object is pinned in the mark.
		reserved = max(reserved, sent+p.ahead.Load())
	}
	return p.checkpoint(pin, reserved)
}

// clean is the checkpoint at the end of the attempt, when nothing is in flight.
func (p *objectPut) clean() putState {
	return p.checkpoint(p.coded.Load(), max(p.call.unsure(), p.from.Reserved))
}

func (p *objectPut) checkpoint(pin *putPin, reserved int64) putState {
	state := p.call.state(reserved)
	state.ETag, state.Coding, state.Size = p.from.ETag, p.from.Coding, p.input.Object.Size
	if pin != nil {
		state.ETag, state.Coding, state.Size = pin.etag, pin.coding, pin.size
	}
	state.Output.RecordCount = 0
	if p.certain.Load() {
		state.Seal = state.seal()
	}
	return state
}

// withCheckpoint gives an error of a type that is repeated the checkpoint.
func withCheckpoint(err error, checkpoint any) error {
	details, ok := activities.DetailsOf(err)
	if !ok || !errortype.Retryable(activities.TypeOf(err)) {
		return err
	}
	var cause interface{ Message() string }
	message := err.Error()
	if errors.As(err, &cause) {
		message = cause.Message()
	}
	return activities.Fail(activities.TypeOf(err), activities.Failure{Message: message, Checkpoint: checkpoint,
		ErrorDetails: activities.ErrorDetails{Code: details.Code, RequestID: details.RequestID}})
}
