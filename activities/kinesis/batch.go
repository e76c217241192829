package kinesis

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"sluice/activities/awscall"
	"sluice/internal/errortype"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
)

// PutBatch puts the records of a Producer's buffer, each once: the Producer
// repeats what failed itself, so that it can be asked what it waits for. With
// key order the later records of a key whose record failed are not sent.
// Input and errors as PutRecords; a repeat goes on from the checkpoint.
func (k *Activities) PutBatch(ctx context.Context, raw json.RawMessage) (wire.PutBatchOutput, error) {
	input := PutRecordsInput{Destination: defaultDestination()}
	records, err := readPut(wire.PutBatch.Name, raw, &input)
	if err != nil {
		return wire.PutBatchOutput{}, err
	}
	call, err := k.put(ctx, input.Destination, records, recordbatch.Call{
		Keyed: input.Ordering == wire.OrderingKey, HoldKeys: input.Ordering == wire.OrderingKey, MaxAttempts: 1})
	if err != nil {
		return wire.PutBatchOutput{}, err
	}
	return call.batch(int64(len(records))), nil
}

// batch is what the Producer wants to know of the call.
func (c *putCall) batch(records int64) wire.PutBatchOutput {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := wire.PutBatchOutput{Stored: c.output.StoredRecordCount, PutRecordsCalls: c.output.PutRecordsCalls,
		PossiblyDuplicated: c.output.PossiblyDuplicated, Failed: []int64{}, Held: []int64{}, Refused: []int64{}, Errors: []wire.BatchFault{}}
	for n := range records {
		if !c.progress.Has(n) {
			out.Held = append(out.Held, n)
		}
	}
	for _, f := range c.output.Failed {
		if f.Attempts > 0 && kindOf(awscall.Answer{Code: f.ErrorCode}) != recordbatch.Unfit {
			out.Failed = append(out.Failed, f.Index)
		} else {
			out.Refused = append(out.Refused, f.Index)
		}
		out.Errors = addFault(out.Errors, f)
	}
	slices.Sort(out.Failed)
	slices.Sort(out.Refused)
	slices.SortStableFunc(out.Errors, func(a, b wire.BatchFault) int { return b.Records - a.Records })
	return out
}

func addFault(faults []wire.BatchFault, f FailedRecord) []wire.BatchFault {
	for i := range faults {
		if faults[i].Code == f.ErrorCode && faults[i].Call == f.call {
			faults[i].Records++
			return faults
		}
	}
	return append(faults, wire.BatchFault{Code: f.ErrorCode, Type: cmp.Or(awscall.Answer{Code: f.ErrorCode, Message: f.ErrorMessage}.Type(), errortype.Unavailable), Message: f.ErrorMessage, Records: 1, Call: f.call})
}
