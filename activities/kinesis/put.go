package kinesis

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
)

// drainTime is how long a stopping worker lets what is queued go out, before
// it takes the rest back into the checkpoint.
const drainTime = 2 * time.Second

// PutRecords puts the records of the call to a stream, in shared requests, and
// repeats what was not stored. Each record is judged by its own entry of the
// answer. A bad record is set aside, its neighbours go through.
//
// A repeat of the activity goes on from its checkpoint: what is settled is not
// sent again. What a lost attempt had not settled may be stored twice, and is
// counted as PossiblyDuplicated; after a worker's clean stop nothing is.
//
// Errors: InvalidInput; NotFound, AccessDenied, Conflict when the stream can't be
// written to; Ambiguous with OnFailed "fail" when records failed, the output in
// its details; WorkerStopping with the checkpoint.
func (k *Activities) PutRecords(ctx context.Context, raw json.RawMessage) (PutRecordsOutput, error) {
	input := PutRecordsInput{Destination: defaultDestination()}
	records, err := readPut(wire.KinesisPutRecords, raw, &input)
	if err != nil {
		return PutRecordsOutput{}, err
	}
	call, err := k.put(ctx, input.Destination, records, recordbatch.Call{
		Keyed: input.Ordering == wire.OrderingKey, Aggregate: input.Aggregate, MaxAttempts: input.MaxAttempts})
	if err != nil {
		return PutRecordsOutput{}, err
	}
	return call.result(wire.KinesisPutRecords, input.Destination)
}

// readPut reads the input of a put and its records, all faults at once.
func readPut(operation string, raw json.RawMessage, input *PutRecordsInput) ([]recordbatch.Record, error) {
	faults := document.Decode(raw, input)
	input.Check(&faults)
	var records []recordbatch.Record
	if len(input.Records) > 0 && !faults.Has("Records") {
		records = recordbatch.ReadRecords(input.Records, func(record int, field, message string) {
			path := "Records"
			if record >= 0 {
				path = document.Index(path, record)
			}
			if field != "" {
				path = document.Join(path, field)
			}
			faults.Add(path, "%s", message)
		})
	}
	if err := faults.Err(); err != nil {
		return nil, activities.Invalid(operation, err)
	}
	return records, nil
}

// put sends records and waits for the end of all of them.
func (k *Activities) put(ctx context.Context, to Destination, records []recordbatch.Record, rules recordbatch.Call) (*putCall, error) {
	state, progress, found, err := takeUp(ctx, wire.KinesisPutRecords, len(records)+1)
	if err != nil {
		return nil, err
	}
	if n := progress.Settled(); n > int64(len(records)) {
		return nil, badCheckpoint(wire.KinesisPutRecords, fmt.Errorf("it has %d records settled, the input has %d", n, len(records)))
	}
	if !found && activity.GetInfo(ctx).Attempt > 1 {
		state.Reserved = int64(len(records)) // an attempt that left nothing may have sent all
	}
	call := newPutCall(rules, progress, state.Output)
	call.letters = to.DeadLetter.on()
	call.output.RecordCount = int64(len(records))
	s, err := k.stream(ctx, to.stream())
	if err != nil {
		return nil, withState(err, state)
	}
	// The mark is recorded before anything is sent: from now on a lost attempt
	// may have sent anything.
	marked := func() any { return call.state(int64(len(records))) }
	activity.RecordHeartbeat(ctx, marked())
	alive, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, marked)
	defer stop()
	err = s.putAll(alive, call, records, state.Reserved)
	if err == nil {
		err = k.writeLetters(alive, to, call)
	}
	return call, k.endPut(ctx, alive, stop, s, to, call, state.Reserved, err)
}

// putAll queues the records of a call that are not settled and waits for the end
// of all. Those below reserved may have a copy already.
func (s *stream) putAll(ctx context.Context, call *putCall, records []recordbatch.Record, reserved int64) error {
	for from := 0; from < len(records); from += chunkRecords {
		to := min(from+chunkRecords, len(records))
		chunk := s.chunk()
		call.fill(chunk, records[from:to], int64(from), reserved, s.k.Settings.Limits)
		if err := s.queueUp(ctx, call, chunk); err != nil {
			return err
		}
	}
	s.last()
	return s.settled(ctx, call)
}

// queueUp pushes the items of a chunk, which are copied: its memory is used again.
func (s *stream) queueUp(ctx context.Context, call *putCall, chunk *recordbatch.Chunk) error {
	if len(chunk.Items) == 0 {
		return nil
	}
	err := s.push(ctx, call, chunk.Items)
	clear(chunk.Items)
	s.chunks.Put(chunk)
	return err
}

// Send puts records without an activity: for programs that use the producer by
// itself. It keeps no checkpoint; when ctx ends before the records do, what is
// not yet sent is given up.
func (k *Activities) Send(ctx context.Context, to Destination, records []recordbatch.Record) (PutRecordsOutput, error) {
	s, err := k.stream(ctx, to.stream())
	if err != nil {
		return PutRecordsOutput{}, err
	}
	rules := recordbatch.Call{Keyed: to.Ordering == wire.OrderingKey, Aggregate: to.Aggregate, MaxAttempts: to.MaxAttempts}
	call := newPutCall(rules, recordbatch.NewProgress(0, len(records)+1), PutRecordsOutput{RecordCount: int64(len(records))})
	err = s.putAll(ctx, call, records, 0)
	if err != nil || call.refusal() != nil {
		s.giveUp(call, false)
	}
	if refusal := call.refusal(); refusal != nil {
		return call.output, deniedError(to.stream(), *refusal, nil)
	}
	return call.output, err
}

// endPut turns the end of a put into the activity's: its own error, or that it
// was interrupted, with what is still owed as the checkpoint.
func (k *Activities) endPut(ctx, alive context.Context, stop func(), s *stream, to Destination, call *putCall, reserved int64, err error) error {
	if err != nil || call.refusal() != nil {
		s.giveUp(call, activities.WorkerIsStopping(alive))
	}
	clean := call.state(max(reserved, call.unsure()))
	interrupted := activities.Interrupted(alive, wire.KinesisPutRecords, clean)
	stop()
	switch {
	case call.refusal() != nil:
		return deniedError(to.stream(), *call.refusal(), &clean)
	case err == nil:
		return nil
	}
	activity.RecordHeartbeat(ctx, clean)
	if interrupted != nil {
		return interrupted
	}
	return err
}

// giveUp takes back what waits of a call and waits for what is in flight; a
// stopping worker first lets the queue drain for a while.
func (s *stream) giveUp(call *putCall, drain bool) {
	if drain {
		ctx, cancel := context.WithTimeout(context.Background(), drainTime)
		s.flush()
		_ = s.settled(ctx, call) // what is not out in time is taken back
		cancel()
	}
	s.mu.Lock()
	s.withdraw(call)
	s.mu.Unlock()
	// An answer comes within the request timeout, or counts as lost then.
	_ = s.settled(context.Background(), call)
}

// fill adds the records that are not settled and fit to be sent, numbered from
// first on; the others that aren't settled are set aside.
func (c *putCall) fill(chunk *recordbatch.Chunk, records []recordbatch.Record, first, reserved int64, limits recordbatch.Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range records {
		n := first + int64(i)
		if c.progress.Has(n) {
			continue
		}
		if fault := limits.Check(&records[i]); fault != nil {
			c.set(FailedRecord{Index: n, ErrorCode: fault.Code, ErrorMessage: fault.Message}, &records[i])
			continue
		}
		chunk.Items = append(chunk.Items, recordbatch.Item{Record: &records[i], Call: &c.rules, Index: n, Unconfirmed: n < reserved})
	}
}

// state is the call's checkpoint; reserved is up to where a lost attempt may
// have sent copies.
func (c *putCall) state(reserved int64) putState {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sumShards()
	output := c.output
	output.Shards = make(map[string]int64, len(c.output.Shards))
	for id, n := range c.output.Shards {
		output.Shards[id] = n
	}
	next, offset := c.progress.Next(), int64(0)
	if c.ends != nil {
		next, offset = c.ends.At(next)
	}
	return putState{Next: next, Offset: offset, Ahead: c.progress.AheadOf(next), Reserved: reserved, LastError: c.lastError, Output: output}
}

// unsure is up to where owed records may have a copy after all.
func (c *putCall) unsure() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsureTo
}

// result is the output, or the error that stands for failed records.
func (c *putCall) result(operation string, to Destination) (PutRecordsOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sumShards()
	if c.output.Failed == nil {
		c.output.Failed = []FailedRecord{}
	}
	if to.OnFailed != "fail" || c.output.FailedRecordCount == 0 {
		return c.output, nil
	}
	told, err := json.Marshal(c.output)
	if err != nil {
		return c.output, err
	}
	return c.output, activities.Fail(activities.TypeAmbiguous, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Code: c.output.Failed[0].ErrorCode, Operation: operation, Target: to.stream().String(), Output: told},
		Message:      fmt.Sprintf("%d of %d records failed, the first: %s", c.output.FailedRecordCount, c.output.RecordCount, c.output.Failed[0].ErrorMessage),
	})
}
