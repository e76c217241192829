package jobchain

import (
	"encoding/json"
	"time"

	"sluice/internal/duration"
	"sluice/internal/limits"
)

// Limits of a request, besides those of Temporal (package limits).
const (
	MaxJobs         = 10_000
	DefaultParallel = 500
	MaxParallel     = 1_000
	MaxCarried      = limits.Carried
)

// Defaults of a document.
const (
	defaultSuspendTTL = time.Hour
	defaultTimeout    = 10 * time.Minute
	defaultPriority   = 3
)

// Document is the input of a request, and what `export` writes.
type Document struct {
	Type            string                     `json:"type,omitempty"`
	Args            json.RawMessage            `json:"args,omitempty"`
	Jobs            []Job                      `json:"jobs" doc:"required"`
	Sequences       map[string]Sequence        `json:"sequences,omitempty"`
	SuspendTTL      duration.Duration          `json:"suspendTTL"`
	Deadline        duration.Deadline          `json:"deadline,omitzero"`
	MaxParallelJobs int                        `json:"maxParallelJobs,omitempty"`
	FairnessKey     string                     `json:"fairnessKey,omitempty"`
	Finished        map[string]json.RawMessage `json:"finished,omitempty"`
}

// NewDocument returns a document that holds the defaults.
func NewDocument() Document {
	return Document{Args: json.RawMessage("{}"), SuspendTTL: duration.Duration(defaultSuspendTTL)}
}

// Parallel is how many jobs may run at once.
func (d *Document) Parallel() int {
	if d.MaxParallelJobs == 0 {
		return DefaultParallel
	}
	return d.MaxParallelJobs
}

// Job is one job of a document: an activity or a child workflow.
type Job struct {
	ID        string            `json:"id" doc:"required"`
	Activity  string            `json:"activity,omitempty"`
	Workflow  string            `json:"workflow,omitempty"`
	Input     json.RawMessage   `json:"input,omitempty"`
	After     []string          `json:"after,omitempty"`
	Retry     int               `json:"retry,omitempty"`
	RetryWait duration.Duration `json:"retryWait,omitzero"`
	Timeout   duration.Duration `json:"timeout,omitzero"`
	Heartbeat duration.Duration `json:"heartbeat,omitzero"`
	TaskQueue string            `json:"taskQueue,omitempty"`
	Priority  int               `json:"priority,omitzero"`
	Sequence  string            `json:"sequence,omitempty"`
}

// SetDefaults fills in what a job is when nothing is said.
func (j *Job) SetDefaults() {
	j.Timeout = duration.Duration(defaultTimeout)
	j.Priority = defaultPriority
}

// MarshalJSON leaves out what is the default, since ten thousand jobs have to
// fit into what one run hands to the next.
func (j Job) MarshalJSON() ([]byte, error) {
	type plain Job
	if j.Timeout == duration.Duration(defaultTimeout) {
		j.Timeout = 0
	}
	if j.Priority == defaultPriority {
		j.Priority = 0
	}
	if string(j.Input) == "null" {
		j.Input = nil
	}
	return json.Marshal(plain(j))
}

// Name is the activity's or workflow's name.
func (j *Job) Name() string {
	if j.Activity != "" {
		return j.Activity
	}
	return j.Workflow
}

// Sequence is a group of jobs that are retried together.
type Sequence struct {
	Retry     int               `json:"retry,omitempty"`
	RetryWait duration.Duration `json:"retryWait,omitzero"`
}
