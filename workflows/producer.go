package workflows

// ProducerInput is the input of Producer.
type ProducerInput struct {
	Stream        string `json:"stream"`
	BatchSize     int    `json:"batchSize,omitempty"`     // records, 1 to 500; 500
	FlushInterval string `json:"flushInterval,omitempty"` // "1s"; "0s": full batches and flushes only
	BufferSize    int    `json:"bufferSize,omitempty"`    // records; 10,000
	BufferBytes   int    `json:"bufferBytes,omitempty"`   // of encoded JSON; 1 MiB, at most 1.25
	MaxAttempts   int    `json:"maxAttempts,omitempty"`   // of a record; 10
	Ordering      string `json:"ordering,omitempty"`      // "key" or "none"; "key"
	DropWhenFull  bool   `json:"dropWhenFull,omitempty"`
}

// AddMessage adds records, all or none.
type AddMessage struct {
	Records []Record `json:"records"`
}

// Record is a record as Kinesis has it.
type Record struct {
	Data            []byte `json:"Data"`
	PartitionKey    string `json:"PartitionKey"`
	ExplicitHashKey string `json:"ExplicitHashKey,omitempty"`
}

// FlushMessage asks to send what is buffered now.
type FlushMessage struct {
	Wait string `json:"wait,omitempty"` // "30s" for the answer, at most "1m"
	Stop bool   `json:"stop,omitempty"`
}
