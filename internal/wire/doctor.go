package wire

// DoctorInput names what a worker is to look for. Lists may be empty.
type DoctorInput struct {
	Tables      []string `json:"tables,omitempty"`
	Streams     []string `json:"streams,omitempty"`
	Buckets     []string `json:"buckets,omitempty"`
	QueueURLs   []string `json:"queueUrls,omitempty"` // of SQS
	AzureQueues []string `json:"azureQueues,omitempty"`
}

// DoctorReport is what a worker sees of the outside world.
type DoctorReport struct {
	Worker string        `json:"worker"` // its identity
	Queue  string        `json:"queue"`  // the task queue that it took the look from
	Checks []DoctorCheck `json:"checks"`
}

// DoctorCheck is one thing that was looked at.
type DoctorCheck struct {
	Name   string `json:"name"`
	Target string `json:"target,omitempty"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	Error  string `json:"error,omitempty"` // with what to do
}
