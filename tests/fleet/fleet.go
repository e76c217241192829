// Package fleet simulates a fleet of workers that share one budget, in one process
// and in a time of its own: the rules are those of internal/throughput, the owner
// is a queue that takes some milliseconds for an answer, and nothing else is real.
// It shows how the rules behave with more workers than a machine can run, and what
// a lost owner or lost workers cost.
package fleet

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/internal/duration"
	"sluice/internal/throughput"
)

const (
	// answering is what the owner takes for one answer; questions queue.
	answering = 4 * time.Millisecond
	// patience is how long a worker waits for one.
	patience = 10 * time.Second
)

var errNoAnswer = errors.New("no answer")

// A Fleet is what is simulated.
type Fleet struct {
	Workers int
	Ceiling throughput.Milli // units a second
	// Demand is what a worker wants at a time since the beginning.
	Demand func(worker int, at time.Duration) throughput.Milli
	// Changes says that a worker's demand is not the same all the time.
	Changes bool
	// Begin is within how long all workers make their first call.
	Begin time.Duration
	// Steady is the longest usual lease; 0 is 30 s.
	Steady time.Duration
	// Lost reports that the owner can't be reached, Dead that a worker is gone.
	Lost func(at time.Duration) bool
	Dead func(worker int, at time.Duration) bool
	Seed uint64
	// Every is how often it is looked at; 0 is every second.
	Every time.Duration
}

// A Look is what was seen at an instant, a second after the one before unless the
// fleet says otherwise.
type Look struct {
	At       time.Duration
	Asked    int              // questions that came since the look before
	Failed   int              // of them, those without an answer
	Granted  throughput.Milli // by all leases in force, as the owner knows
	InHand   throughput.Milli // what all living workers believe they may consume
	Consumed throughput.Milli // what they want and may consume
}

// A Run is a simulation at work.
type Run struct {
	Fleet
	Owner *throughput.Owner
	Looks []Look
	// Served is how long each worker waited for a share above 0.
	Served []time.Duration

	random  *rand.Rand
	tenants []throughput.Tenant
	began   []time.Duration
	leased  []time.Duration // when each last asked
	events  events
	busy    time.Duration // until when the owner works on earlier questions
	look    Look
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// Start begins a simulation.
func Start(f Fleet) *Run {
	if f.Every == 0 {
		f.Every = time.Second
	}
	r := &Run{
		Fleet: f,
		Owner: &throughput.Owner{
			Resource: "dynamodb/eu-west-1/orders/write", Started: epoch, Used: epoch, Utilization: throughput.Unit,
		},
		Served:  make([]time.Duration, f.Workers),
		random:  rand.New(rand.NewPCG(f.Seed, 1)),
		tenants: make([]throughput.Tenant, f.Workers),
		began:   make([]time.Duration, f.Workers),
		leased:  make([]time.Duration, f.Workers),
	}
	r.Owner.Describe(epoch, f.Ceiling)
	for i := range f.Workers {
		at := time.Duration(r.random.Int64N(int64(f.Begin) + 1))
		r.began[i], r.Served[i] = at, -1
		heap.Push(&r.events, event{at, i})
	}
	return r
}

// Until goes on to a time since the beginning.
func (r *Run) Until(end time.Duration) {
	for len(r.events) > 0 && r.events[0].at < end {
		e, _ := heap.Pop(&r.events).(event)
		r.pass(e.at)
		if r.Dead != nil && r.Dead(e.worker, e.at) {
			continue
		}
		r.ask(e)
	}
	r.pass(end)
}

// ask is one question of a worker, with its answer. Those that a rise in demand
// brings forward are found every second.
func (r *Run) ask(e event) {
	t, now := &r.tenants[e.worker], epoch.Add(e.at)
	if t.Next().After(now) {
		if t.Wants(now, r.Demand(e.worker, e.at), r.random.Float64()); t.Next().After(now) {
			r.again(e)
			return
		}
	}
	r.look.Asked++
	r.busy = max(r.busy, e.at)
	if wait := r.busy - e.at; wait > patience || (r.Lost != nil && r.Lost(e.at)) {
		r.look.Failed++
		t.Failed(now.Add(patience), errNoAnswer, r.random.Float64())
		r.again(e)
		return
	}
	r.busy += answering
	answered := epoch.Add(r.busy)
	demand := r.Demand(e.worker, e.at)
	units, rest := t.Holds(now)
	since := e.at - r.leased[e.worker]
	r.leased[e.worker] = e.at
	request := throughput.LeaseRequest{
		Worker: fmt.Sprintf("w%05d", e.worker), Demand: throughput.Demand{2: demand},
		Consumed: throughput.Milli(float64(min(units, demand)) * since.Seconds()), Steady: duration.Duration(r.Steady),
		Holds: units, For: duration.Duration(rest),
	}
	lease := r.Owner.Lease(answered, request)
	t.Granted(now, answered, demand, lease, r.random.Float64())
	if r.Served[e.worker] < 0 && (lease.UnitsPerSecond > 0 || lease.Unlimited) {
		r.Served[e.worker] = r.busy - r.began[e.worker]
	}
	r.again(e)
}

// again is when a worker looks at its lease the next time.
func (r *Run) again(e event) {
	at := r.tenants[e.worker].Next().Sub(epoch)
	if r.Changes {
		at = min(at, e.at+time.Second)
	}
	heap.Push(&r.events, event{at, e.worker})
}

// pass looks at what has been to be looked at until now.
func (r *Run) pass(now time.Duration) {
	for r.look.At+r.Every <= now {
		r.look.At += r.Every
		at := epoch.Add(r.look.At)
		for _, h := range r.Owner.Holders {
			if h.ExpiresAt.After(at) {
				r.look.Granted += h.Units
			}
		}
		for i := range r.tenants {
			if r.Dead != nil && r.Dead(i, r.look.At) {
				continue
			}
			demand := r.Demand(i, r.look.At)
			units, _ := r.tenants[i].Share(at, demand)
			r.look.InHand += units
			r.look.Consumed += min(units, demand)
		}
		r.Looks = append(r.Looks, r.look)
		r.look = Look{At: r.look.At}
	}
}

// Share is what a worker holds at the present end of the simulation.
func (r *Run) Share(worker int) throughput.Milli {
	lease, _ := r.tenants[worker].Lease()
	return lease.UnitsPerSecond
}

type event struct {
	at     time.Duration
	worker int
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { v, _ := x.(event); *e = append(*e, v) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}
