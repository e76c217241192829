package guard

import (
	"maps"
	"sync"
	"time"
)

// Limits are what the guard enforces.
type Limits struct {
	DynamoDB DynamoDBLimits `json:"dynamodb"`
	Kinesis  KinesisLimits  `json:"kinesis"`
}

// DynamoDBLimits follow each table's own settings unless they are given here.
type DynamoDBLimits struct {
	// Burst is how long unused capacity is saved up; the service saves 5 minutes.
	Burst Duration `json:"burst"`
	// Tables are by "<table>" or "<table>/<index>".
	Tables map[string]TableLimits `json:"tables"`
	// Keys are what each partition key of a table may take; a table that is not here
	// has no such limit.
	Keys map[string]TableLimits `json:"keys"`
}

// TableLimits are units a second; 0 is the table's own setting.
type TableLimits struct {
	Read  float64 `json:"read"`
	Write float64 `json:"write"`
}

// KinesisLimits of a shard (a second's worth may come at once) and of a request;
// a negative one is off.
type KinesisLimits struct {
	RecordsPerSecond float64 `json:"recordsPerSecond"`
	BytesPerSecond   float64 `json:"bytesPerSecond"` // data and partition keys
	RequestRecords   int     `json:"requestRecords"`
	RequestBytes     int     `json:"requestBytes"` // data and partition keys
	RecordBytes      int     `json:"recordBytes"`  // data and partition key
}

// DefaultLimits are the services' own, but for the DynamoDB burst: ten seconds
// show a throttle soon and let small peaks through.
func DefaultLimits() Limits {
	return Limits{
		DynamoDB: DynamoDBLimits{Burst: Duration(10 * time.Second), Tables: map[string]TableLimits{}, Keys: map[string]TableLimits{}},
		Kinesis: KinesisLimits{RecordsPerSecond: 1000, BytesPerSecond: 1 << 20,
			RequestRecords: 500, RequestBytes: 10 << 20, RecordBytes: 1 << 20},
	}
}

// limits in force.
type limits struct {
	mu  sync.RWMutex
	now Limits
}

func newLimits(over Limits) *limits {
	l := &limits{now: DefaultLimits()}
	l.merge(over)
	return l
}

// get answers a copy that is safe to read.
func (l *limits) get() Limits {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.now
}

// merge replaces what is given; zero values leave what is in force.
func (l *limits) merge(over Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if over.DynamoDB.Burst > 0 {
		l.now.DynamoDB.Burst = over.DynamoDB.Burst
	}
	tables := maps.Clone(l.now.DynamoDB.Tables) // readers hold the old one
	maps.Copy(tables, over.DynamoDB.Tables)
	l.now.DynamoDB.Tables = tables
	keys := maps.Clone(l.now.DynamoDB.Keys)
	maps.Copy(keys, over.DynamoDB.Keys)
	l.now.DynamoDB.Keys = keys
	k, o := &l.now.Kinesis, over.Kinesis
	replace(&k.RecordsPerSecond, o.RecordsPerSecond)
	replace(&k.BytesPerSecond, o.BytesPerSecond)
	replace(&k.RequestRecords, o.RequestRecords)
	replace(&k.RequestBytes, o.RequestBytes)
	replace(&k.RecordBytes, o.RecordBytes)
}

func replace[T comparable](value *T, by T) {
	var zero T
	if by != zero {
		*value = by
	}
}
