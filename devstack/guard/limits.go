package guard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"sluice/devstack/guard/rules"
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

// A keyRange is the part of a table's throughput that one partition key may take in
// one direction, as the partition holds it that the key is on.
type keyRange struct {
	table, key string
	write      bool
}

// keyRanges hold a bucket for each partition key of the tables that have a limit
// for one. A second's worth is saved up.
type keyRanges struct {
	mu      sync.Mutex
	buckets map[keyRange]*rules.Bucket
}

func newKeyRanges() *keyRanges { return &keyRanges{buckets: map[keyRange]*rules.Bucket{}} }

// rangeOf is the key range of a single call; none where it names no item, or the
// table has no limit for one.
func (l Limits) rangeOf(c *call, t *table, w *write) (r keyRange, perSecond float64) {
	limit, limited := l.DynamoDB.Keys[c.target]
	if !limited || t == nil || len(t.key) == 0 {
		return r, 0
	}
	var key rules.Item
	if w != nil {
		perSecond, key = limit.Write, w.key
	} else {
		perSecond = limit.Read
		_ = json.Unmarshal(c.doc["Key"], &key) // queries and scans have none
	}
	value, named := key[t.key[0]]
	if !named {
		return r, 0
	}
	return keyRange{c.target, string(value), w != nil}, perSecond
}

// take takes units out of a range, or nothing and answers false; negative units go
// back.
func (k *keyRanges) take(r keyRange, perSecond, units float64, now time.Time) bool {
	if perSecond == 0 {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.buckets[r]
	if b == nil {
		b = rules.NewBucket(perSecond, perSecond, now)
		k.buckets[r] = b
	}
	b.Set(perSecond, perSecond, now)
	if units > 0 && !b.Fits(units, now) {
		return false
	}
	b.Take(units, now)
	return true
}

// throttleRange refuses a call for its key alone, and says so as the service does.
func (d *dynamoDB) throttleRange(c *call, r keyRange) *answer {
	c.count(Count{Throttled: 1})
	direction := "Read"
	if r.write {
		direction = "Write"
	}
	reason := map[string]string{
		"reason":   fmt.Sprintf("Table%sKeyRangeThroughputExceeded", direction),
		"resource": "arn:aws:dynamodb:us-east-1:000000000000:table/" + r.table,
	}
	body := doc{}
	body.set("__type", dynamoNamespace+"ThrottlingException")
	body.set("message", "Throughput exceeds the limit of the key range that the request is for.")
	body.set("throttlingReasons", []any{reason})
	text := encode(body)
	a := jsonAnswer(dynamoContent, http.StatusBadRequest, text)
	sumUp(c, a, text)
	return a
}
