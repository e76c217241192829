package kinesis

import (
	"encoding/json"
	"errors"
	"fmt"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/internal/errortype"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
)

// deniedError ends a put whose stream can't be written to; left is its checkpoint,
// if it has one.
func deniedError(n streamName, outcome recordbatch.Outcome, left *putState) error {
	f := activities.Failure{
		ErrorDetails: activities.ErrorDetails{Code: outcome.Code, RequestID: outcome.RequestID, Operation: wire.KinesisPutRecords, Target: n.String()},
		Message:      awscall.Words(outcome.Code, outcome.Message),
	}
	if left != nil {
		f.Checkpoint = *left
		if !errortype.Retryable(outcome.Type) {
			tellStored(&f, left.Output)
		}
	}
	return activities.Fail(outcome.Type, f)
}

// tellStored adds what is stored all the same.
func tellStored(f *activities.Failure, output PutRecordsOutput) {
	output.RecordCount = output.StoredRecordCount + output.FailedRecordCount
	if output.RecordCount == 0 {
		return
	}
	told, err := json.Marshal(output)
	if err != nil {
		return // numbers and strings have a JSON form
	}
	f.Output = told
	f.Message += fmt.Sprintf("; %d records are stored", output.StoredRecordCount)
}

// withState gives an error what is known of its put: one that is repeated the
// checkpoint, and one that ends the put for good what is stored.
func withState(err error, state putState) error {
	details, ok := activities.DetailsOf(err)
	if !ok {
		return err
	}
	f := activities.Failure{Message: err.Error(), Checkpoint: state,
		ErrorDetails: activities.ErrorDetails{Code: details.Code, RequestID: details.RequestID}}
	var cause interface{ Message() string }
	if errors.As(err, &cause) {
		f.Message = cause.Message()
	}
	if !errortype.Retryable(activities.TypeOf(err)) {
		tellStored(&f, state.Output)
	}
	return activities.Fail(activities.TypeOf(err), f)
}
