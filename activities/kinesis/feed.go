package kinesis

import (
	"context"
	"fmt"
	"io"

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

// chunk gathers records until they are queued.
type chunk struct {
	*recordbatch.Chunk
	bytes int
}

// read gathers the next chunk; io.EOF comes with the last one.
func (p *objectPut) read(ctx context.Context) (*chunk, error) {
	c := &chunk{Chunk: p.stream.chunk()}
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
	r := p.own(n, record.Data)
	var bad string
	if r.Key, bad = p.key.Of(record.Data); bad != "" {
		p.call.setAside(n, r, recordbatch.Fault{Code: recordbatch.CodeBadKey, Message: bad})
		return
	}
	if fault := p.k.Settings.Limits.Check(r); fault != nil {
		p.call.setAside(n, r, *fault)
		return
	}
	c.Items = append(c.Items, recordbatch.Item{Record: r, Call: &p.call.rules, Index: n, Unconfirmed: n < p.from.Reserved})
	c.bytes += len(r.Data)
}

// own is a record in memory of its own: one that has to wait for long, as its shard
// takes nothing, keeps no other's.
func (p *objectPut) own(n int64, data []byte) *recordbatch.Record {
	if p.envelope != nil {
		p.enveloped = p.envelope.Append(p.enveloped[:0], n, data)
		data = p.enveloped
	}
	return &recordbatch.Record{Data: append(make([]byte, 0, len(data)), data...)}
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
	return p.stream.queueUp(ctx, p.call, c.Chunk)
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
