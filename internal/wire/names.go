package wire

// Workflow types.
const (
	TypeRequest         = "Request"
	TypeResumeSuspended = "ResumeSuspended"
	TypeThroughput      = "Throughput"
	TypeProducer        = "Producer"
	TypeQuiescence      = "Quiescence"
	TypePoll            = "Poll" // one poll of Quiescence by an activity
	TypeCountObjects    = "CountObjects"
	TypeClaimTasks      = "ClaimTasks"
	TypeTask            = "Task"
	TypeIngest          = "Ingest"
)

// Queries.
const (
	QueryStatus       = "status"  // every workflow's
	QueryLog          = "log"     // Request
	QueryExport       = "export"  // Request
	QueryEvents       = "events"  // Producer
	QueryClaimControl = "control" // ClaimTasks, asked by its polling activity
)

// Updates, and those signals that have the same name and input.
const (
	UpdateSuspend  = "suspend"  // Request; also a signal
	UpdateResume   = "resume"   // Request; also a signal
	UpdateStop     = "stop"     // Request (also a signal), Producer, Quiescence, CountObjects, ClaimTasks
	UpdateClaim    = "claim"    // Request
	UpdateUnclaim  = "unclaim"  // Request
	UpdateLease    = "lease"    // Throughput
	UpdateRelease  = "release"  // Throughput
	UpdatePause    = "pause"    // Throughput; also a signal
	UpdateUnpause  = "unpause"  // Throughput; also a signal
	UpdateSet      = "set"      // Throughput
	UpdateAdd      = "add"      // Producer
	UpdateFlush    = "flush"    // Producer
	UpdateStart    = "start"    // Producer
	UpdateTune     = "tune"     // Quiescence
	UpdateFinish   = "finish"   // Quiescence
	UpdateJoin     = "join"     // CountObjects, by ingestions that share it
	UpdateLeave    = "leave"    // CountObjects
	UpdateDrain    = "drain"    // CountObjects, ClaimTasks
	UpdateCapacity = "capacity" // ClaimTasks
)

// Signals without an update of the same name.
const (
	SignalStop     = "stop"     // ResumeSuspended
	SignalObserved = "observed" // Quiescence with the signal source
	SignalFinished = "finished" // ClaimTasks: a Task tells its end
	SignalStopping = "stopping" // Request: a child request tells how many of its jobs stop
)

// Values of shell.AttributeState for workflows without states of their own.
const (
	StateOpen   = "OPEN"
	StatePaused = "PAUSED"
	StateDone   = "DONE"
)

// Search attributes, all of type Keyword.
const (
	AttributeState   = "SluiceState"   // the workflow's state or phase
	AttributeType    = "SluiceType"    // a request's type, else the workflow type
	AttributeTarget  = "SluiceTarget"  // table, stream, bucket or queue
	AttributeTrouble = "SluiceTrouble" // the error type of what is waited for; none when all is well
)
