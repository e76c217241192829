package ingest

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
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

// Streaming is the phase in which the live count of tasks is in the
// heartbeat of the activity that waits for them.
const Streaming = phaseStream

// Workflow takes in the objects under a prefix: a task per object goes on an Azure
// queue, ClaimTasks claims them, each runs a Request that streams the object's
// records to Kinesis and writes its progress to DynamoDB; CountObjects counts
// what the stream's delivery writes to S3, Quiescence decides that the last has
// landed, and a summary compares by record id. While records are missing and the
// deadline has not passed it watches another generation.
//
// Messages: the query status. Temporal's cancel ends the claimer, leaves the
// counter, which ends with the last ingestion that has joined it, and closes the
// workflow as Canceled; messages still on the queue stay there.
//
// History: about 70 events, and 20 for every further generation, whatever the
// number of objects and records; it continues as new between two generations.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*Result, error) {
	in := continued{Input: defaultInput()}
	if err := shell.DecodeInput(ctx, wire.TypeIngest, raw, &in.Input, &in); err != nil {
		return nil, err
	}
	run := newRun(ctx, in)
	if err := run.listen(ctx); err != nil {
		return nil, err
	}
	shell.Hear(ctx, run.showTrouble)
	if err := run.attributes.Show(ctx, shell.Shown{State: wire.StateOpen, Type: wire.TypeIngest, Target: in.Bucket}); err != nil {
		return nil, err
	}
	result, err := run.ingest(ctx)
	if workflow.IsContinueAsNewError(err) {
		return nil, err
	}
	// The end of what was started must not be lost to a cancellation.
	ending, _ := workflow.NewDisconnectedContext(ctx)
	run.finish(ending)
	if err != nil {
		return nil, activities.Final(err)
	}
	result.LastError = run.lastError
	run.result = result
	measured := workflow.GetMetricsHandler(ctx)
	measured.Counter("sluice_ingest_ended").Inc(1)
	measured.Gauge("sluice_ingest_missing_records").Update(float64(result.Missing))
	run.show(ending, phaseFinish, "")
	return result, run.attributes.Show(ending, shell.Shown{State: wire.StateDone, Ended: true})
}
