package wire

import (
	"encoding/json"
	"time"

	"sluice/internal/duration"
)

// FollowInput names a workflow.
type FollowInput struct {
	WorkflowID string `json:"workflowId"`
	StateOnly  bool   `json:"stateOnly,omitempty"` // of a result no more than its field state is wanted
}

// How a followed workflow ended.
const (
	FollowedCompleted  = "completed"
	FollowedUnreadable = "unreadable" // completed, with a result that is no JSON
	FollowedCanceled   = "canceled"
	FollowedFailed     = "failed"
	FollowedBroken     = "broken" // terminated or timed out
)

// Followed is the end of a workflow.
type Followed struct {
	Status       string            `json:"status"`
	Output       json.RawMessage   `json:"output,omitempty"`
	Type         string            `json:"type,omitempty"`
	Message      string            `json:"message,omitempty"`
	NonRetryable bool              `json:"nonRetryable,omitempty"`
	Delay        duration.Duration `json:"delay,omitzero"`
}

// JoinInput names a workflow that runs under the ID of a child, and what a child of
// the asker's would be.
type JoinInput struct {
	WorkflowID string `json:"workflowId"`
	Parent     string `json:"parent"`
	Type       string `json:"type"`
}

// Joined is a child that an earlier execution of its parent started.
type Joined struct {
	StartedAt time.Time `json:"startedAt"`
}

// ChildLook is what is to be seen of a workflow that runs.
type ChildLook struct {
	Begun   bool   `json:"begun"` // it has done its first task, or has ended
	Trouble string `json:"trouble,omitempty"`
}

// HeartbeatsInput names activities that a run has under way.
type HeartbeatsInput struct {
	WorkflowID  string   `json:"workflowId"`
	RunID       string   `json:"runId"`
	ActivityIDs []string `json:"activityIds"`
}

// Heartbeats are what activities have heartbeat last, those that have.
type Heartbeats struct {
	ByActivity map[string]json.RawMessage `json:"byActivity"`
}

// RunningTime is how long a request has run.
type RunningTime struct {
	Ran       duration.Duration `json:"ran"` // since its first run began, time in SUSPENDED left out
	Suspended bool              `json:"suspended"`
}

// ListSuspendedInput narrows the list.
type ListSuspendedInput struct {
	Filter string `json:"filter"` // an extra clause of the visibility query
	Limit  int    `json:"limit"`
}

// Suspended are the workflow IDs of suspended requests.
type Suspended struct {
	IDs  []string `json:"ids"`
	Left int      `json:"left,omitempty"` // how many more there are than one list may hold
}

// ResumeInput names the request to resume and who does.
type ResumeInput struct {
	ID     string            `json:"id"`
	Holder string            `json:"holder"`
	Lease  duration.Duration `json:"lease"`
}

// Resumed is what became of one request.
type Resumed struct {
	Resumed bool   `json:"resumed,omitempty"`
	Skipped bool   `json:"skipped,omitempty"` // claimed by Holder, or not suspended any more
	Holder  string `json:"holder,omitempty"`
	Error   string `json:"error,omitempty"`
}
