package workflows

// QuiescenceInput is the input of Quiescence. Pointers are what may be zero and
// isn't by default; Ptr makes them.
type QuiescenceInput struct {
	Source       Source    `json:"source"`
	Repeats      *int      `json:"repeats,omitempty"` // successive unchanged polls; 5
	Delay        Delay     `json:"delay,omitzero"`
	QuietFor     string    `json:"quietFor,omitempty"`
	MinRecords   *int64    `json:"minRecords,omitempty"` // seen before quiet counts; 1
	Expected     int64     `json:"expected,omitempty"`   // reaching it ends at once
	StartTimeout string    `json:"startTimeout,omitempty"`
	Deadline     string    `json:"deadline,omitempty"` // a length, or an instant in RFC 3339
	Late         LateWatch `json:"late,omitzero"`
	Then         []Then    `json:"then,omitempty"`
}

// Ptr is a pointer to v.
func Ptr[T any](v T) *T { return &v }

// Delay is the time between two polls.
type Delay struct {
	Strategy string `json:"strategy,omitempty"` // "constant", "inverse", "exponential"; "constant"
	Base     string `json:"base,omitempty"`     // "30s"
	Min      string `json:"min,omitempty"`      // "1s"
	Max      string `json:"max,omitempty"`      // base
}

// LateWatch tells how long to watch on after the first quiet.
type LateWatch struct {
	Watch string `json:"watch,omitempty"`
}

// Source is what is watched: one of its fields.
type Source struct {
	DynamoDB *DynamoDBSource `json:"dynamodb,omitempty"`
	S3       *S3Source       `json:"s3,omitempty"`
	SQS      *SQSSource      `json:"sqs,omitempty"`
	Activity *ActivitySource `json:"activity,omitempty"`
	Signal   *None           `json:"signal,omitempty"` // others send Observed
}

// DynamoDBSource is an item; any change of it is a change.
type DynamoDBSource struct {
	Table     string `json:"table"`
	Key       any    `json:"key"`                 // as DynamoDB has it: {"id":{"S":"x"}}
	Attribute string `json:"attribute,omitempty"` // the count: "num_records"
}

// S3Source is all objects under a prefix.
type S3Source struct {
	Bucket      string `json:"bucket"`
	Prefix      string `json:"prefix,omitempty"`
	IgnoreEmpty *bool  `json:"ignoreEmpty,omitempty"` // true
	OnDelete    string `json:"onDelete,omitempty"`    // "reset", "ignore", "fail"; "reset"
}

// SQSSource is a queue's backlog.
type SQSSource struct {
	QueueURL string `json:"queueUrl"`
}

// ActivitySource is an activity, in any language, that answers
// {"version":"…","count":n}.
type ActivitySource struct {
	Name      string `json:"name"`
	Input     any    `json:"input,omitempty"`
	TaskQueue string `json:"taskQueue,omitempty"`
}

// Then is what to do at the end: one of its fields but On.
type Then struct {
	HTTP     *ThenHTTP     `json:"http,omitempty"`
	Workflow *ThenWorkflow `json:"workflow,omitempty"`
	Activity *ThenActivity `json:"activity,omitempty"`
	Signal   *ThenSignal   `json:"signal,omitempty"`
	On       []string      `json:"on,omitempty"` // "quiet", "expected", "forced"; also "deadline", "notStarted", "late"
}

// ThenHTTP calls an origin that the worker allows.
type ThenHTTP struct {
	URL    string `json:"url"`
	Method string `json:"method,omitempty"` // "POST"
	Auth   string `json:"auth,omitempty"`   // names credentials of the worker
	Input  any    `json:"input,omitempty"`
}

// ThenWorkflow starts a workflow.
type ThenWorkflow struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitempty"`
	Input     any    `json:"input,omitempty"`
	TaskQueue string `json:"taskQueue,omitempty"`
}

// ThenActivity calls an activity.
type ThenActivity struct {
	Name      string `json:"name"`
	Input     any    `json:"input,omitempty"`
	TaskQueue string `json:"taskQueue,omitempty"`
}

// ThenSignal signals a workflow.
type ThenSignal struct {
	WorkflowID string `json:"workflowId"`
	Name       string `json:"name"`
	Input      any    `json:"input,omitempty"`
}

// TuneMessage changes the rule of a watch: what is neither nil nor empty. "0s" turns
// quietFor off, an Expected of 0 the number.
type TuneMessage struct {
	Repeats    *int   `json:"repeats,omitempty"`
	Delay      *Delay `json:"delay,omitempty"`
	QuietFor   string `json:"quietFor,omitempty"`
	MinRecords *int64 `json:"minRecords,omitempty"`
	Expected   *int64 `json:"expected,omitempty"`
	Deadline   string `json:"deadline,omitempty"`
}

// FinishMessage ends a watch, by Finish as if it were quiet, by StopWatch without
// what follows.
type FinishMessage struct {
	Reason string `json:"reason,omitempty"`
}

// ObservedMessage tells a watch of a signal source of Count more, or of Total in all.
type ObservedMessage struct {
	Count *int64 `json:"count,omitempty"`
	Total *int64 `json:"total,omitempty"`
}

// CountObjectsInput is the input of CountObjects.
type CountObjectsInput struct {
	QueueURL    string `json:"queueUrl"`
	Table       string `json:"table"`                 // string hash key "id"
	Key         string `json:"key,omitempty"`         // "bucket" or "prefix"; "bucket"
	PrefixDepth int    `json:"prefixDepth,omitempty"` // elements of the key that make a prefix; 1
}

// DrainMessage asks to end when there is no more to do.
type DrainMessage struct {
	Wait string `json:"wait,omitempty"` // "30s" for the answer, at most "1m"
}
