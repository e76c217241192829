package workflows

import "sluice/internal/wire"

// Workflow types.
const (
	TypeRequest         = wire.TypeRequest
	TypeResumeSuspended = wire.TypeResumeSuspended
	TypeThroughput      = wire.TypeThroughput
	TypeProducer        = wire.TypeProducer
	TypeQuiescence      = wire.TypeQuiescence
	TypePoll            = wire.TypePoll // one poll of Quiescence by an activity
	TypeCountObjects    = wire.TypeCountObjects
	TypeClaimTasks      = wire.TypeClaimTasks
	TypeTask            = wire.TypeTask
	TypeIngest          = wire.TypeIngest
)

// Queries.
const (
	QueryStatus = wire.QueryStatus // every workflow's
	QueryLog    = wire.QueryLog    // Request
	QueryExport = wire.QueryExport // Request
	QueryEvents = wire.QueryEvents // Producer
)

// Updates, and those signals that have the same name and input.
const (
	UpdateSuspend  = wire.UpdateSuspend  // Request; also a signal
	UpdateResume   = wire.UpdateResume   // Request; also a signal
	UpdateStop     = wire.UpdateStop     // Request (also a signal), Producer, Quiescence, CountObjects, ClaimTasks
	UpdateClaim    = wire.UpdateClaim    // Request
	UpdateUnclaim  = wire.UpdateUnclaim  // Request
	UpdateLease    = wire.UpdateLease    // Throughput
	UpdateRelease  = wire.UpdateRelease  // Throughput
	UpdatePause    = wire.UpdatePause    // Throughput; also a signal
	UpdateUnpause  = wire.UpdateUnpause  // Throughput; also a signal
	UpdateSet      = wire.UpdateSet      // Throughput
	UpdateAdd      = wire.UpdateAdd      // Producer
	UpdateFlush    = wire.UpdateFlush    // Producer
	UpdateStart    = wire.UpdateStart    // Producer
	UpdateTune     = wire.UpdateTune     // Quiescence
	UpdateFinish   = wire.UpdateFinish   // Quiescence
	UpdateDrain    = wire.UpdateDrain    // CountObjects, ClaimTasks
	UpdateCapacity = wire.UpdateCapacity // ClaimTasks
)

// Signals without an update of the same name.
const (
	SignalStop     = wire.SignalStop     // ResumeSuspended
	SignalObserved = wire.SignalObserved // Quiescence with the signal source
	SignalFinished = wire.SignalFinished // ClaimTasks: a Task tells its end
)

// Values of shell.AttributeState for workflows without states of their own.
const (
	StateOpen   = wire.StateOpen
	StatePaused = wire.StatePaused
	StateDone   = wire.StateDone
)
