package workflows

// A duration in these documents is a string such as "1h30m". The zero value of each
// field is its default, told in its comment.

// None is the input of what takes none.
type None struct{}

// RequestInput is the input of Request. Durations are strings such as "1h30m", and
// "" is the default.
type RequestInput struct {
	Type            string              `json:"type,omitempty"` // label, shown and searchable
	Args            any                 `json:"args,omitempty"` // any JSON, for $from
	Jobs            []Job               `json:"jobs"`           // 1 to 10,000
	Sequences       map[string]Sequence `json:"sequences,omitempty"`
	SuspendTTL      string              `json:"suspendTTL,omitempty"`      // "1h"; "0s" never ends a suspension
	Deadline        string              `json:"deadline,omitempty"`        // a length, or an instant in RFC 3339
	MaxParallelJobs int                 `json:"maxParallelJobs,omitempty"` // 500; at most 1,000
	FairnessKey     string              `json:"fairnessKey,omitempty"`     // Temporal's, handed to the jobs
	Finished        map[string]any      `json:"finished,omitempty"`        // jobs taken as COMPLETE, with their outputs
}

// Job is one job of a request: an activity or a child workflow.
type Job struct {
	ID        string   `json:"id"`                 // [A-Za-z0-9_.-]{1,100}
	Activity  string   `json:"activity,omitempty"` // this or Workflow
	Workflow  string   `json:"workflow,omitempty"`
	Input     any      `json:"input,omitempty"`     // its one argument; {"$from":"jobs.load"} takes an output
	After     []string `json:"after,omitempty"`     // jobs that must be COMPLETE
	Retry     int      `json:"retry,omitempty"`     // tries after the first
	RetryWait string   `json:"retryWait,omitempty"` // "0s"
	Timeout   string   `json:"timeout,omitempty"`   // of a try: "10m"
	Heartbeat string   `json:"heartbeat,omitempty"` // heartbeat timeout; "" none: it can't be interrupted then
	TaskQueue string   `json:"taskQueue,omitempty"` // "": the request's
	Priority  int      `json:"priority,omitempty"`  // 1 highest to 5; 3
	Sequence  string   `json:"sequence,omitempty"`
}

// Sequence is jobs that are retried together.
type Sequence struct {
	Retry     int    `json:"retry,omitempty"`
	RetryWait string `json:"retryWait,omitempty"`
}

// From is the input of a job that is taken from the request's arguments, or from the
// output of another job, by a JMESPath expression over
// {"args":…,"jobs":{"<id>":<output>},"request":{"id","type","run"}}.
func From(expression string) any { return map[string]string{"$from": expression} }

// SuspendMessage asks a request to suspend.
type SuspendMessage struct {
	Reason string `json:"reason,omitempty"`
	Grace  string `json:"grace,omitempty"` // "10s" for jobs to stop
	TTL    string `json:"ttl,omitempty"`   // the request's suspendTTL; "0s": never ends
	Wait   string `json:"wait,omitempty"`  // "30s" for the answer, at most "1m"
}

// ResumeMessage asks it to go on; with a claim, by its holder and token.
type ResumeMessage struct {
	Holder string `json:"holder,omitempty"`
	Token  int64  `json:"token,omitempty"`
}

// StopMessage ends it for good.
type StopMessage struct {
	Reason string `json:"reason,omitempty"`
	Grace  string `json:"grace,omitempty"` // "10s"
}

// ClaimMessage claims a suspended request, or extends the claim of the token.
type ClaimMessage struct {
	Holder string `json:"holder"`
	Lease  string `json:"lease,omitempty"` // "5m"
	Token  int64  `json:"token,omitempty"`
}

// UnclaimMessage ends a claim: the holder's own, or with Force anybody's.
type UnclaimMessage struct {
	Holder string `json:"holder,omitempty"`
	Token  int64  `json:"token,omitempty"`
	Force  bool   `json:"force,omitempty"`
}

// Page is the part of a request's jobs that status shows.
type Page struct {
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"` // 500; at most 2,000
}

// LogPage is the part of a request's log, an entry a try, of one job or of all.
type LogPage struct {
	Job    string `json:"job,omitempty"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

// ResumeSuspendedInput is the input of ResumeSuspended.
type ResumeSuspendedInput struct {
	Holder      string `json:"holder,omitempty"`      // "": the run
	Filter      string `json:"filter,omitempty"`      // an extra clause of the visibility query
	MaxParallel int    `json:"maxParallel,omitempty"` // 10
	Lease       string `json:"lease,omitempty"`       // of a claim: "5m"
	Limit       int    `json:"limit,omitempty"`       // requests at most; 0: all
}
