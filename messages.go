package sluice

import (
	"encoding/json"

	budget "sluice/internal/throughput"
	"sluice/internal/wire"
	"sluice/workflows"
	"sluice/workflows/claimtasks"
	"sluice/workflows/countobjects"
	"sluice/workflows/ingest"
	"sluice/workflows/producer"
	"sluice/workflows/quiescence"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
)

// Request runs a chain of jobs that can be suspended and resumed; ResumeSuspended
// resumes all that are suspended and not claimed.
var (
	Request         = Workflow[workflows.RequestInput, request.Result]{wire.TypeRequest, "A chain of jobs"}
	ResumeSuspended = Workflow[workflows.ResumeSuspendedInput, resumer.Result]{wire.TypeResumeSuspended, "Resumes suspended requests"}
)

// Messages and queries of Request. Each update but Claim and Unclaim answers the
// status document.
var (
	Suspend       = Update[workflows.SuspendMessage, request.Status]{wire.UpdateSuspend}
	Resume        = Update[workflows.ResumeMessage, request.Status]{wire.UpdateResume}
	StopRequest   = Update[workflows.StopMessage, request.Status]{wire.UpdateStop}
	Claim         = Update[workflows.ClaimMessage, request.ClaimAnswer]{wire.UpdateClaim}
	Unclaim       = Update[workflows.UnclaimMessage, request.ClaimAnswer]{wire.UpdateUnclaim}
	RequestStatus = Query[workflows.Page, request.Status]{wire.QueryStatus}
	RequestLog    = Query[workflows.LogPage, []request.Entry]{wire.QueryLog}
	ExportRequest = Query[workflows.None, json.RawMessage]{wire.QueryExport} // a document that Request takes as its input
)

// The messages of Request that may be sent without waiting for an answer.
var (
	SuspendSignal     = Signal[workflows.SuspendMessage]{wire.UpdateSuspend}
	ResumeSignal      = Signal[workflows.ResumeMessage]{wire.UpdateResume}
	StopRequestSignal = Signal[workflows.StopMessage]{wire.UpdateStop}
)

// Messages and queries of ResumeSuspended.
var (
	StopResuming          = Signal[workflows.None]{wire.SignalStop}
	ResumeSuspendedStatus = Query[workflows.None, resumer.Status]{wire.QueryStatus}
)

// Throughput owns the budget of a table or an index and a direction, for the whole
// fleet. Workers start it where they need it, under ThroughputID.
var Throughput = Workflow[workflows.ThroughputInput, ThroughputState]{wire.TypeThroughput, "A budget of capacity"}

// Messages and queries of Throughput. Lease and Release are what workers use.
var (
	Pause            = Update[workflows.PauseMessage, ThroughputState]{wire.UpdatePause}
	Unpause          = Update[workflows.PauseMessage, ThroughputState]{wire.UpdateUnpause}
	PauseSignal      = Signal[workflows.PauseMessage]{wire.UpdatePause}
	UnpauseSignal    = Signal[workflows.PauseMessage]{wire.UpdateUnpause}
	SetThroughput    = Update[workflows.SetMessage, ThroughputState]{wire.UpdateSet}
	LeaseShare       = Update[workflows.LeaseMessage, LeaseAnswer]{wire.UpdateLease}
	ReleaseShare     = Update[workflows.ReleaseMessage, workflows.None]{wire.UpdateRelease}
	ThroughputStatus = Query[workflows.None, ThroughputState]{wire.QueryStatus}
)

// ThroughputState is the status document of Throughput, LeaseAnswer a worker's share.
type (
	ThroughputState = budget.Status
	LeaseAnswer     = budget.Lease
)

// Producer is the durable buffer in front of a stream, under ProducerID.
var Producer = Workflow[workflows.ProducerInput, producer.Status]{wire.TypeProducer, "A buffer in front of a stream"}

// Messages and queries of Producer.
var (
	AddRecords     = Update[workflows.AddMessage, producer.AddAnswer]{wire.UpdateAdd}
	Flush          = Update[workflows.FlushMessage, producer.FlushAnswer]{wire.UpdateFlush}
	StartProducer  = Update[workflows.None, producer.Status]{wire.UpdateStart}
	StopProducer   = Update[workflows.None, producer.Status]{wire.UpdateStop}
	ProducerStatus = Query[workflows.None, producer.Status]{wire.QueryStatus}
	ProducerEvents = Query[workflows.None, []producer.Event]{wire.QueryEvents}
)

// Quiescence watches until nothing comes any more, and starts what follows;
// CountObjects counts the objects that S3 announces on a queue, under CountID.
var (
	Quiescence   = Workflow[workflows.QuiescenceInput, quiescence.Result]{wire.TypeQuiescence, "Waits until nothing comes any more"}
	CountObjects = Workflow[workflows.CountObjectsInput, countobjects.Status]{wire.TypeCountObjects, "Counts objects as they are announced"}
)

// Messages and queries of Quiescence.
var (
	Tune             = Update[workflows.TuneMessage, quiescence.Status]{wire.UpdateTune}
	Finish           = Update[workflows.FinishMessage, quiescence.Status]{wire.UpdateFinish}
	StopWatch        = Update[workflows.FinishMessage, quiescence.Status]{wire.UpdateStop}
	Observed         = Signal[workflows.ObservedMessage]{wire.SignalObserved}
	QuiescenceStatus = Query[workflows.None, quiescence.Status]{wire.QueryStatus}
)

// Messages and queries of CountObjects.
var (
	StopCounting       = Update[workflows.None, countobjects.Status]{wire.UpdateStop}
	DrainCounting      = Update[workflows.DrainMessage, countobjects.Status]{wire.UpdateDrain}
	CountObjectsStatus = Query[workflows.None, countobjects.Status]{wire.QueryStatus}
)

// ClaimTasks claims tasks from Azure queues, under ClaimID; Ingest is the main job,
// which does everything at once.
var (
	ClaimTasks = Workflow[workflows.ClaimTasksInput, claimtasks.Status]{wire.TypeClaimTasks, "Claims tasks from queues"}
	Ingest     = Workflow[workflows.IngestInput, ingest.Result]{wire.TypeIngest, "Takes the objects of a bucket in"}
)

// Messages and queries of ClaimTasks and Ingest.
var (
	SetCapacity      = Update[workflows.CapacityMessage, claimtasks.Status]{wire.UpdateCapacity}
	DrainClaiming    = Update[workflows.DrainMessage, claimtasks.Status]{wire.UpdateDrain}
	StopClaiming     = Update[workflows.None, claimtasks.Status]{wire.UpdateStop}
	ClaimTasksStatus = Query[workflows.None, claimtasks.Status]{wire.QueryStatus}
	IngestStatus     = Query[workflows.None, ingest.Status]{wire.QueryStatus}
)
