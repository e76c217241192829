package wire

// PutBatchOutput is the answer of Kinesis.PutBatch, by the records' numbers.
type PutBatchOutput struct {
	Stored             int64        `json:"stored"`
	PutRecordsCalls    int64        `json:"putRecordsCalls"`
	PossiblyDuplicated int64        `json:"possiblyDuplicated"`
	Failed             []int64      `json:"failed"`  // sent in vain; worth repeating
	Held               []int64      `json:"held"`    // not sent, since an earlier record of their key failed
	Refused            []int64      `json:"refused"` // not fit to be sent; repeating is no use
	Errors             []BatchFault `json:"errors"`
}

// BatchFault sums up failures of one code.
type BatchFault struct {
	Code    string `json:"code"`
	Type    string `json:"type"` // of our errors
	Message string `json:"message"`
	Records int    `json:"records"`
	Call    bool   `json:"call"` // the whole call failed, not single records
}

// Orders of records.
const (
	OrderingNone = "none" // kept but where a record had to be repeated
	OrderingKey  = "key"  // strict for each key
)

// PutBatchInput is the input of the activity that sends a batch.
type PutBatchInput struct {
	StreamName string        `json:"StreamName"`
	Ordering   string        `json:"Ordering"`
	Records    []BatchRecord `json:"Records"`
}

// BatchRecord is a record of a batch.
type BatchRecord struct {
	Data            string `json:"Data"`
	PartitionKey    string `json:"PartitionKey"`
	ExplicitHashKey string `json:"ExplicitHashKey,omitempty"`
}
