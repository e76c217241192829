package guard

import (
	"sync"
	"time"

	"sluice/devstack/guard/rules"
)

// A resource has a throughput of its own: a table, or a global index of it.
type resource struct {
	table, index string // index "": the table and its local indexes
	write        bool
}

func (r resource) name() string {
	if r.index == "" {
		return r.table
	}
	return r.table + "/" + r.index
}

func (r resource) direction() string {
	if r.write {
		return "write"
	}
	return "read"
}

// A bill is units by resource.
type bill map[resource]float64

func (b bill) add(r resource, units float64) { b[r] += units }

func (b bill) total() float64 {
	sum := 0.0
	for _, units := range b {
		sum += units
	}
	return sum
}

// meters hold a bucket a resource.
type meters struct {
	mu      sync.Mutex
	buckets map[resource]*rules.Bucket
}

func newMeters() *meters { return &meters{buckets: map[resource]*rules.Bucket{}} }

// rate is what a resource may do in a second; 0 is no limit.
func (l Limits) rate(t *table, r resource) float64 {
	given, own := l.DynamoDB.Tables[r.name()], t.rates[r.index]
	if r.write {
		if given.Write > 0 {
			return given.Write
		}
		return own.Write
	}
	if given.Read > 0 {
		return given.Read
	}
	return own.Read
}

// hold takes all of a bill, or nothing and answers false.
func (m *meters) hold(l Limits, t *table, b bill, now time.Time) bool {
	if t == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for r, units := range b {
		if !m.bucket(l, t, r, now).Fits(units, now) {
			return false
		}
	}
	for r, units := range b {
		m.bucket(l, t, r, now).Take(units, now)
	}
	return true
}

// settle replaces what was held by what it really was.
func (m *meters) settle(l Limits, t *table, held, really bill, now time.Time) {
	if t == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for r, units := range held {
		m.bucket(l, t, r, now).Take(-units, now)
	}
	for r, units := range really {
		m.bucket(l, t, r, now).Take(units, now)
	}
}

func (m *meters) bucket(l Limits, t *table, r resource, now time.Time) *rules.Bucket {
	rate := l.rate(t, r)
	capacity := rate * time.Duration(l.DynamoDB.Burst).Seconds()
	b := m.buckets[r]
	if b == nil {
		b = rules.NewBucket(rate, capacity, now)
		m.buckets[r] = b
	}
	b.Set(rate, capacity, now)
	return b
}
