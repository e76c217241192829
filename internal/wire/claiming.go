package wire

import (
	"encoding/json"
	"time"

	"sluice/internal/duration"
	"sluice/internal/errortype"
	"sluice/internal/taskclaim"
)

// Outcomes of a task, as the task service and the claimer are told them.
const (
	OutcomeCompleted = "completed"
	OutcomeFailed    = "failed"
	OutcomeException = "exception"
	OutcomeCanceled  = "canceled" // the claim was lost to a decision of the service: nothing is reported
)

// Reasons of an exception.
const (
	ReasonWorkerShutdown   = "worker-shutdown"
	ReasonMalformedPayload = "malformed-payload"
	ReasonClaimExpired     = "claim-expired"
	ReasonInternalError    = "internal-error"
	ReasonIntermittentTask = "intermittent-task"
)

// Outcome is how a task ended.
type Outcome struct {
	State  string `json:"state"`            // completed, failed, exception, canceled
	Reason string `json:"reason,omitempty"` // of an exception
}

// ClaimSpec says which task service decides, and for whom it is asked.
type ClaimSpec struct {
	Service       string            `json:"service"`
	WorkerGroup   string            `json:"workerGroup"`
	WorkerID      string            `json:"workerId"`
	ReclaimBefore duration.Duration `json:"reclaimBefore"`
}

// Used reports that there is a task service.
func (s ClaimSpec) Used() bool { return s.Service != "" }

// SignedURLs says who hands out signed URLs for which queues.
type SignedURLs struct {
	Service       string            `json:"service" doc:"required"`
	ProvisionerID string            `json:"provisionerId" doc:"required"`
	WorkerType    string            `json:"workerType" doc:"required"`
	RefreshBefore duration.Duration `json:"refreshBefore"`
}

// SetDefaults fills in the defaults of the contract.
func (s *SignedURLs) SetDefaults() { s.RefreshBefore = duration.Duration(5 * time.Minute) }

// QueueRef names a queue of the storage account.
type QueueRef struct {
	Name string `json:"name" doc:"required"`
}

// RunSpec says which workflow does a task's work.
type RunSpec struct {
	Workflow  string `json:"workflow"`
	TaskQueue string `json:"taskQueue"` // "": the claimer's own
}

// ClaimerRef names a claimer and its chain of runs, so that a Task of an earlier
// claimer under the same ID is not mistaken for one of the present.
type ClaimerRef struct {
	WorkflowID string `json:"workflowId"`
	FirstRunID string `json:"firstRunId"`
}

// TaskInput starts a Task.
type TaskInput struct {
	TaskID      string          `json:"taskId" doc:"required"`
	RunID       int64           `json:"runId"`
	Payload     json.RawMessage `json:"payload"`
	Run         RunSpec         `json:"run"`
	Queue       string          `json:"queue"`
	Claimer     ClaimerRef      `json:"claimer"`
	Claim       *TaskClaim      `json:"claim,omitempty"` // with a task service
	FairnessKey string          `json:"fairnessKey,omitempty"`
}

// TaskClaim is a claim at the task service, with its time by our own clock.
type TaskClaim struct {
	Service       string            `json:"service" doc:"required"`
	ReclaimBefore duration.Duration `json:"reclaimBefore"`
	Lease         taskclaim.Lease   `json:"lease"`
}

// FinishedTasks is the signal finished: the ends of tasks of the claimer.
type FinishedTasks struct {
	Tasks []FinishedTask `json:"tasks" doc:"required"`
}

// FinishedTask is what a Task tells its claimer of its end.
type FinishedTask struct {
	TaskID     string `json:"taskId" doc:"required"`
	RunID      int64  `json:"runId"`
	FirstRunID string `json:"firstRunId"` // of the claimer that started it
	Outcome
}

// PollInput starts the polling activity.
type PollInput struct {
	Claimer ClaimerRef   `json:"claimer"`
	Spec    PollSpec     `json:"spec"`
	Carry   PollCarry    `json:"carry"`
	Queues  []QueueState `json:"queues,omitempty"`
	// TaskQueue is of the claimer, and of its tasks; the activity's own may be another.
	TaskQueue string `json:"taskQueue"`
}

// PollSpec is what a claimer was started with, checked and with its defaults.
type PollSpec struct {
	Queues            []QueueRef        `json:"queues,omitempty"`
	SignedURLs        *SignedURLs       `json:"signedUrls,omitempty"`
	Interval          duration.Duration `json:"interval"`
	MaxInterval       duration.Duration `json:"maxInterval"`
	VisibilityTimeout duration.Duration `json:"visibilityTimeout"`
	WarnDequeueCount  int64             `json:"warnDequeueCount"`
	MaxDequeueCount   int64             `json:"maxDequeueCount"`
	PoisonQueue       string            `json:"poisonQueue,omitempty"`
	Claim             ClaimSpec         `json:"claim"`
	Run               RunSpec           `json:"run"`
	FairnessKey       string            `json:"fairnessKey,omitempty"`
	Capacity          int               `json:"capacity"` // at the start; the control query has it in force
}

// PollCarry is what the polling activity remembers across its own restarts.
type PollCarry struct {
	Owed    []OwedDelete     `json:"owed,omitempty"`    // messages dealt with and not yet deleted
	Excused []RememberedID   `json:"excused,omitempty"` // excused deliveries that their messages do not tell
	Copied  []RememberedID   `json:"copied,omitempty"`  // messages already copied to the poison queue
	Unsure  []OpenTask       `json:"unsure,omitempty"`  // tasks of which it is not known whether they started
	Credit  taskclaim.Credit `json:"credit"`
	// Trouble is what the claimer fails at again and again.
	Trouble errortype.Trouble `json:"trouble,omitzero"`
	// Spacing is of the heartbeats of the activity that comes next; 0: things happen.
	Spacing duration.Duration `json:"spacing,omitempty"`
	// Place is up to where the history of the run has been read.
	Place []byte `json:"place,omitempty"`
}

// OpenTask is a task that runs or is about to, of which the workflow does not
// know yet. Until it is sure, its start may or may not have happened.
type OpenTask struct {
	StartedTask
	Sure  bool      `json:"sure"`
	Since time.Time `json:"since"` // when its start was first tried
}

// OwedDelete is a message that is to be deleted, with the receipt in force.
type OwedDelete struct {
	Queue     string    `json:"queue"`
	MessageID string    `json:"messageId"`
	Receipt   string    `json:"receipt"`
	Until     time.Time `json:"until,omitzero"` // the receipt is good till then
}

// RememberedID is a message's ID with a count.
type RememberedID struct {
	ID string `json:"id"`
	N  int64  `json:"n"`
}

// StartedTask is a task that a claimer started.
type StartedTask struct {
	TaskID     string    `json:"taskId"`
	RunID      int64     `json:"runId"`
	StartedAt  time.Time `json:"startedAt"`
	TakenUntil time.Time `json:"takenUntil,omitzero"`
}

// ID is the task's workflow ID.
func (t StartedTask) ID() string { return TaskID(t.TaskID, t.RunID) }

// LostTask is a task that ended without telling its claimer.
type LostTask struct {
	TaskID string `json:"taskId"`
	RunID  int64  `json:"runId"`
	Status string `json:"status"` // Temporal's, such as "Terminated"
}

// QueueState is what is known of a queue. Visible is exact up to 32; the others
// are Azure's estimate, which may be wrong for minutes.
type QueueState struct {
	Name        string `json:"name"`
	Visible     int64  `json:"visible"`
	Invisible   int64  `json:"invisible"`
	Approximate int64  `json:"approximate"`
	Errors      int64  `json:"errors"`
	LastError   string `json:"lastError"`
	Trouble     string `json:"trouble,omitempty"` // type of the error that recurs; it has not worked since
}

// PollReport is what the polling activity tells its workflow.
type PollReport struct {
	Started  []StartedTask `json:"started,omitempty"`
	Lost     []LostTask    `json:"lost,omitempty"`
	Poisoned int64         `json:"poisoned,omitempty"`
	Excused  int64         `json:"excused,omitempty"`
	Queues   []QueueState  `json:"queues,omitempty"`
	Carry    PollCarry     `json:"carry"`
}

// ClaimControlQuery is what the polling activity asks.
type ClaimControlQuery struct {
	Tasks bool `json:"tasks"` // list the running tasks too
}

// ClaimControl is the answer: what the claimer may do.
type ClaimControl struct {
	State    string        `json:"state"` // OPEN, DRAINING, STOPPED
	Capacity int           `json:"capacity"`
	MaxTasks int64         `json:"maxTasks"`
	Claimed  int64         `json:"claimed"`
	Running  int           `json:"running"`         // reported and not finished
	Early    []string      `json:"early,omitempty"` // IDs of tasks that finished before they were reported
	Rollover bool          `json:"rollover"`        // the history is long: report, so that it can be cut
	Tasks    []StartedTask `json:"tasks,omitempty"`
	Recent   []string      `json:"recent,omitempty"` // with Tasks: IDs of the last that finished
}

// States of a claimer.
const (
	ClaimOpen     = "OPEN"
	ClaimDraining = "DRAINING"
	ClaimStopped  = "STOPPED"
)

// TaskRef names a run at a task service.
type TaskRef struct {
	Service string `json:"service"`
	TaskID  string `json:"taskId"`
	RunID   int64  `json:"runId"`
}

// ResolveInput is what Resolve reports.
type ResolveInput struct {
	TaskRef
	Outcome
}

// FinishedInput is what Finished tells, and whom.
type FinishedInput struct {
	Claimer ClaimerRef        `json:"claimer"`
	Task    FinishedTask      `json:"task"`
	Took    duration.Duration `json:"took"` // from the task's start to its end
}

// PollMemory is the heartbeat of the polling activity: all that a repeat needs,
// and what the starter adds to a claimer's status.
type PollMemory struct {
	Tasks    []OpenTask   `json:"tasks,omitempty"`
	Lost     []LostTask   `json:"lost,omitempty"`
	Poisoned int64        `json:"poisoned,omitempty"`
	Excused  int64        `json:"excused,omitempty"`
	Queues   []QueueState `json:"queues,omitempty"`
	Carry    PollCarry    `json:"carry"`
}

// Report is what a poller with this memory has to tell. It is the memory's, and
// not the poller's, since a worker that is lost leaves nothing else.
func (m PollMemory) Report() PollReport {
	report := PollReport{
		Lost: m.Lost, Poisoned: m.Poisoned, Excused: m.Excused, Queues: m.Queues, Carry: m.Carry,
	}
	for _, t := range m.Tasks {
		if t.Sure {
			report.Started = append(report.Started, t.StartedTask)
		} else {
			report.Carry.Unsure = append(report.Carry.Unsure, t)
		}
	}
	if len(report.Started) == 0 && len(report.Lost) == 0 {
		report.Carry.Credit = report.Carry.Credit.Spend()
	}
	return report
}

const (
	TaskRunning  = "RUNNING"
	TaskStopping = "STOPPING"
)

// StopInput is the input of the update stop.
type StopInput struct {
	Reason string `json:"reason"`
}
