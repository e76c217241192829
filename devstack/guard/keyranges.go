package guard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/devstack/guard/rules"
)

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
