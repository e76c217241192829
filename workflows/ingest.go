package workflows

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
)

// Phases of Ingest, in their order.
const (
	phasePrepare  = "PREPARE"  // everything named is looked up, the objects are listed
	phaseDispatch = "DISPATCH" // a task per object goes on the queue
	phaseStream   = "STREAM"   // tasks stream their objects to Kinesis
	phaseSettle   = "SETTLE"   // the delivery falls quiet
	phaseCompare  = "COMPARE"  // what was delivered is read and compared
	phaseFinish   = "FINISH"   // what was started is ended
)

// IngestStreaming is the phase in which the live count of tasks is in the
// heartbeat of the activity that waits for them.
const IngestStreaming = phaseStream

// IngestResult is what Ingest answers (contract §7).
type IngestResult struct {
	Run        string             `json:"run"`
	Objects    int64              `json:"objects"`
	Records    int64              `json:"records"`
	Delivered  int64              `json:"delivered"`  // distinct
	Missing    int64              `json:"missing"`    // records that were not delivered
	Duplicated int64              `json:"duplicated"` // deliveries beyond the first of a record
	Tasks      int64              `json:"tasks"`      // that ended
	Seconds    float64            `json:"seconds"`
	Report     wire.IngestLocated `json:"report"`
}

// IngestStatus answers the query status.
type IngestStatus struct {
	AsOf       time.Time     `json:"asOf"`
	State      string        `json:"state"` // OPEN or DONE
	Phase      string        `json:"phase"`
	Run        string        `json:"run"`
	Objects    int64         `json:"objects"`
	Tasks      int64         `json:"tasks"`      // that ended, as of the last change of phase
	Generation int           `json:"generation"` // of the delivery's quiet
	Deadline   *time.Time    `json:"deadline"`
	Claimer    string        `json:"claimer"`
	Counter    string        `json:"counter"`
	Result     *IngestResult `json:"result"`
}

// Ingest takes in the objects under a prefix: a task per object goes on an Azure
// queue, ClaimTasks claims them, each runs a Request that streams the object's
// records to Kinesis and writes its progress to DynamoDB; CountObjects counts
// what the stream's delivery writes to S3, Quiescence decides that the last has
// landed, and a summary compares by record id. While records are missing and the
// deadline has not passed it watches another generation.
//
// Messages: the query status. Temporal's cancel ends the claimer, and the
// counter if this run started it, and closes the workflow as Canceled; messages
// still on the queue stay there.
//
// History: about 70 events, and 20 for every further generation, whatever the
// number of objects and records.
func Ingest(ctx workflow.Context, raw json.RawMessage) (*IngestResult, error) {
	in := defaultIngestInput()
	if err := decode(TypeIngest, raw, &in); err != nil {
		return nil, err
	}
	run := newIngestRun(ctx, in)
	if err := workflow.SetQueryHandler(ctx, QueryStatus, run.status); err != nil {
		return nil, err
	}
	if err := run.attributes.set(ctx, StateOpen, TypeIngest, in.Bucket); err != nil {
		return nil, err
	}
	result, err := run.ingest(ctx)
	// The end of what was started must not be lost to a cancellation.
	ending, _ := workflow.NewDisconnectedContext(ctx)
	if endErr := run.finish(ending, err == nil && result.Missing == 0); err == nil {
		err = endErr
	}
	if err != nil {
		return nil, activities.Final(err)
	}
	run.result = result
	run.show(ending, phaseFinish, "")
	return result, run.attributes.set(ending, StateDone, "", "")
}
