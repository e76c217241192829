package wire

import "time"

// IngestPlan is what an ingestion is about, as its activities need it.
type IngestPlan struct {
	Workflow       string `json:"workflow"` // workflow ID
	Run            string `json:"run"`      // first run ID: names records and tasks
	Bucket         string `json:"bucket"`
	Prefix         string `json:"prefix"`
	Format         string `json:"format"`
	Queue          string `json:"queue"`
	Stream         string `json:"stream"`
	Table          string `json:"table"`
	DeliveryBucket string `json:"deliveryBucket"`
	DeliveryPrefix string `json:"deliveryPrefix"`
	Notifications  string `json:"notifications"`
	ReportBucket   string `json:"reportBucket"`
	ReportPrefix   string `json:"reportPrefix"`
}

// IngestPrepared says how much there is to do.
type IngestPrepared struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// IngestAwait says which tasks to wait for.
type IngestAwait struct {
	Run      string    `json:"run"`
	Total    int64     `json:"total"`
	Deadline time.Time `json:"deadline"` // zero: none
}

// IngestTasks counts tasks that have ended.
type IngestTasks struct {
	Ended int64 `json:"ended"`
	Total int64 `json:"total"`
}

// IngestSummariseInput says what to compare; objects of the delivery that are
// older than Since can't hold records of this run.
type IngestSummariseInput struct {
	Plan  IngestPlan `json:"plan"`
	Since time.Time  `json:"since"`
}

// IngestSummary is the outcome of the comparison by record id.
type IngestSummary struct {
	Records    int64         `json:"records"`
	Delivered  int64         `json:"delivered"` // distinct
	Missing    int64         `json:"missing"`
	Duplicated int64         `json:"duplicated"` // deliveries beyond the first of a record
	Unreadable int64         `json:"unreadable"` // source objects whose records could not be counted
	Lost       int64         `json:"lost"`       // missing ones of objects that no waiting makes readable
	Report     IngestLocated `json:"report"`
}

// IngestLocated is the place of an object.
type IngestLocated struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
}
