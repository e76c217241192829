package workflows

// ClaimTasksInput is the input of ClaimTasks.
type ClaimTasksInput struct {
	Queues            []Queue     `json:"queues,omitempty"` // in order of priority; these or SignedURLs
	SignedURLs        *SignedURLs `json:"signedUrls,omitempty"`
	Capacity          int         `json:"capacity,omitempty"`          // running at once, 1 to 1,000; 10
	MaxTasks          int64       `json:"maxTasks,omitempty"`          // claims in all; 0: no limit
	Interval          string      `json:"interval,omitempty"`          // of idle polling: "5s"
	MaxInterval       string      `json:"maxInterval,omitempty"`       // "1m"
	VisibilityTimeout string      `json:"visibilityTimeout,omitempty"` // "5m"
	WarnDequeueCount  int64       `json:"warnDequeueCount,omitempty"`  // 5
	MaxDequeueCount   int64       `json:"maxDequeueCount,omitempty"`   // 15: poison from then on
	PoisonQueue       string      `json:"poisonQueue,omitempty"`       // "<queue>-poison"
	Claim             ClaimSpec   `json:"claim,omitzero"`              // of a task service; none by default
	Run               RunSpec     `json:"run,omitzero"`
	FairnessKey       string      `json:"fairnessKey,omitempty"`
}

// Queue names an Azure queue.
type Queue struct {
	Name string `json:"name"`
}

// SignedURLs tells where signed URLs of queues are had.
type SignedURLs struct {
	Service       string `json:"service"`
	ProvisionerID string `json:"provisionerId"`
	WorkerType    string `json:"workerType"`
	RefreshBefore string `json:"refreshBefore,omitempty"` // "5m"
}

// ClaimSpec is the task service that decides who runs a task.
type ClaimSpec struct {
	Service       string `json:"service,omitempty"`
	WorkerGroup   string `json:"workerGroup,omitempty"`
	WorkerID      string `json:"workerId,omitempty"`
	ReclaimBefore string `json:"reclaimBefore,omitempty"` // "3m"
}

// RunSpec is the workflow that does the work of a task.
type RunSpec struct {
	Workflow  string `json:"workflow,omitempty"`  // "Request"
	TaskQueue string `json:"taskQueue,omitempty"` // "": the claimer's
}

// CapacityMessage sets how many tasks may run at once.
type CapacityMessage struct {
	Capacity int `json:"capacity"`
}

// IngestInput is the input of Ingest.
type IngestInput struct {
	Bucket   string         `json:"bucket"`
	Prefix   string         `json:"prefix,omitempty"`
	Queue    string         `json:"queue"`  // Azure
	Stream   string         `json:"stream"` // Kinesis
	Table    string         `json:"table"`  // DynamoDB, string hash key "id"
	Delivery IngestDelivery `json:"delivery"`
	Report   IngestReport   `json:"report,omitzero"`
	Format   string         `json:"format,omitempty"`   // "lines", "json-array", "csv"; "lines"
	Capacity int            `json:"capacity,omitempty"` // 10
	Quiet    IngestQuiet    `json:"quiet,omitzero"`
	Deadline string         `json:"deadline,omitempty"` // "2h"
}

// IngestDelivery is where what delivers the stream writes objects and announces them.
type IngestDelivery struct {
	Bucket        string `json:"bucket"`
	Prefix        string `json:"prefix,omitempty"`
	Notifications string `json:"notifications"` // URL of an SQS queue
}

// IngestReport is where the comparison is written.
type IngestReport struct {
	Bucket string  `json:"bucket,omitempty"` // the source bucket
	Prefix *string `json:"prefix,omitempty"` // "reports/"
}

// IngestQuiet is the rule by which the delivery counts as quiet.
type IngestQuiet struct {
	Repeats  int    `json:"repeats,omitempty"` // 3
	Delay    Delay  `json:"delay,omitzero"`    // its base: "10s"
	QuietFor string `json:"quietFor,omitempty"`
}
