package activities

import (
	"context"
	"encoding/json"
	"slices"

	"sluice/internal/recordbatch"
)

// PutBatchOutput is the answer of Kinesis.PutBatch, by the records' numbers.
type PutBatchOutput struct {
	Stored             int64        `json:"stored"`
	PutRecordsCalls    int64        `json:"putRecordsCalls"`
	PossiblyDuplicated int64        `json:"possiblyDuplicated"`
	Failed             []int64      `json:"failed"`  // sent in vain; worth repeating
	Held               []int64      `json:"held"`    // not sent, since an earlier record of their key failed
	Refused            []int64      `json:"refused"` // not fit to be sent; repeating is no use
	Errors             []BatchFault `json:"errors"`
}

// BatchFault sums up failures of one code.
type BatchFault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Records int    `json:"records"`
	Call    bool   `json:"call"` // the whole call failed, not single records
}

// PutBatch puts the records of a Producer's buffer, each once: the Producer
// repeats what failed itself, so that it can be asked what it waits for. With
// key order the later records of a key whose record failed are not sent.
// Input and errors as PutRecords; a repeat goes on from the checkpoint.
func (k *Kinesis) PutBatch(ctx context.Context, raw json.RawMessage) (PutBatchOutput, error) {
	input := PutRecordsInput{Destination: defaultDestination()}
	records, err := readPut("Kinesis.PutBatch", raw, &input)
	if err != nil {
		return PutBatchOutput{}, err
	}
	call, err := k.put(ctx, input.Destination, records, recordbatch.Call{
		Keyed: input.Ordering == OrderingKey, HoldKeys: input.Ordering == OrderingKey, MaxAttempts: 1})
	if err != nil {
		return PutBatchOutput{}, err
	}
	return call.batch(int64(len(records))), nil
}

// batch is what the Producer wants to know of the call.
func (c *putCall) batch(records int64) PutBatchOutput {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := PutBatchOutput{Stored: c.output.StoredRecordCount, PutRecordsCalls: c.output.PutRecordsCalls,
		PossiblyDuplicated: c.output.PossiblyDuplicated, Failed: []int64{}, Held: []int64{}, Refused: []int64{}, Errors: []BatchFault{}}
	for n := range records {
		if !c.progress.Has(n) {
			out.Held = append(out.Held, n)
		}
	}
	for _, f := range c.output.Failed {
		if f.Attempts > 0 && kinesisKind(f.ErrorCode, 0) != recordbatch.Unfit {
			out.Failed = append(out.Failed, f.Index)
		} else {
			out.Refused = append(out.Refused, f.Index)
		}
		out.Errors = addFault(out.Errors, f)
	}
	slices.Sort(out.Failed)
	slices.Sort(out.Refused)
	slices.SortStableFunc(out.Errors, func(a, b BatchFault) int { return b.Records - a.Records })
	return out
}

func addFault(faults []BatchFault, f FailedRecord) []BatchFault {
	for i := range faults {
		if faults[i].Code == f.ErrorCode && faults[i].Call == f.call {
			faults[i].Records++
			return faults
		}
	}
	return append(faults, BatchFault{Code: f.ErrorCode, Message: f.ErrorMessage, Records: 1, Call: f.call})
}
