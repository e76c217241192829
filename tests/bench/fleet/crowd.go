package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"sluice/internal/connect"
	"sluice/internal/duration"
	"sluice/internal/throughput"
	"sluice/tests/harness"
	budgets "sluice/workflows/throughput"
)

const (
	provisioned = 10_000 // units a second of each table
	ceiling     = provisioned * 98 / 100
	patience    = 10 * time.Second // as a worker has it
	connections = 8                // which the workers share, since a thousand processes don't fit
)

// A crowd is a fleet of simulated workers on a table of their own. Each follows the
// rules of a worker's side, and what it consumes is what it may and wants.
type crowd struct {
	workers  int
	resource string
	owners   []budgets.Owners
	demand   func(worker int, at time.Duration) throughput.Milli

	began   time.Time
	mu      sync.Mutex
	asked   []question
	leases  []held // by worker
	granted []float64
	served  []time.Duration
	errors  map[string]bool
}

// A question is one lease asked for.
type question struct {
	at, took time.Duration
	failed   bool
}

// held is what a worker holds, until when by its own clock.
type held struct {
	units throughput.Milli
	until time.Time
}

func newCrowd(ctx context.Context, s *harness.Stack, workers int) (*crowd, error) {
	table := s.NewTable(harness.Table{Read: provisioned, Write: provisioned})
	c := &crowd{
		workers: workers, leases: make([]held, workers), served: make([]time.Duration, workers), errors: map[string]bool{},
		resource: fmt.Sprintf("dynamodb/%s/us-east-1/%s/write", s.TaskQueue, table),
		demand: func(worker int, _ time.Duration) throughput.Milli {
			return throughput.Units(3 * ceiling / float64(workers) * (0.5 + float64(worker%11)/10))
		},
	}
	for range min(connections, workers) {
		dialled, err := client.DialContext(ctx, client.Options{
			HostPort: s.Env("TEMPORAL_ADDRESS"), Logger: connect.TemporalLogger(zap.NewNop()),
			ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{budgets.AskOnce()}},
		})
		if err != nil {
			return nil, err
		}
		c.owners = append(c.owners, budgets.Owners{Client: dialled, TaskQueue: s.TaskQueue})
	}
	return c, nil
}

// run has all workers lease for a time.
func (c *crowd) run(ctx context.Context, length time.Duration) {
	ctx, end := context.WithTimeout(ctx, length)
	defer end()
	defer func() {
		for _, owner := range c.owners {
			owner.Client.Close()
		}
	}()
	c.began = time.Now()
	var all sync.WaitGroup
	for worker := range c.workers {
		all.Go(func() {
			if pause(ctx, time.Duration(rand.Int64N(int64(begin)))) {
				c.work(ctx, worker)
			}
		})
	}
	all.Go(func() {
		for pause(ctx, time.Second) {
			c.look()
		}
	})
	all.Wait()
}

// work is one worker: it asks when its rules say so, and notices a rise in its
// demand within a second.
func (c *crowd) work(ctx context.Context, worker int) {
	var tenant throughput.Tenant
	first, last := time.Now(), time.Now()
	for ctx.Err() == nil {
		now := time.Now()
		demand := c.demand(worker, now.Sub(c.began))
		if tenant.Wants(now, demand, rand.Float64()); tenant.Next().After(now) {
			pause(ctx, min(tenant.Next().Sub(now), time.Second))
			continue
		}
		units, rest := tenant.Holds(now)
		request := throughput.LeaseRequest{
			Worker: fmt.Sprintf("worker-%04d", worker), Demand: throughput.Demand{2: demand},
			Consumed: throughput.Milli(float64(min(units, demand)) * now.Sub(last).Seconds()),
			Holds:    units, For: duration.Duration(rest),
		}
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		lease, err := c.owners[worker%len(c.owners)].Lease(asking, c.resource, request)
		cancel()
		answered := time.Now()
		if err != nil {
			c.complain(err)
			tenant.Failed(answered, err, rand.Float64())
		} else {
			last = now
			tenant.Granted(now, answered, demand, lease, rand.Float64())
		}
		c.note(worker, first, question{now.Sub(c.began), answered.Sub(now), err != nil}, lease)
	}
}

func (c *crowd) note(worker int, first time.Time, q question, lease throughput.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, q)
	if q.failed {
		return
	}
	answered := c.began.Add(q.at + q.took)
	c.leases[worker] = held{lease.UnitsPerSecond, answered.Add(lease.Validity())}
	if c.served[worker] == 0 && lease.UnitsPerSecond > 0 {
		c.served[worker] = answered.Sub(first)
	}
}

// complain tells an error that was not seen yet.
func (c *crowd) complain(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.errors[err.Error()] && len(c.errors) < 10 {
		c.errors[err.Error()] = true
		log.Printf("%d workers: %v", c.workers, err)
	}
}

// look adds up what is leased.
func (c *crowd) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum throughput.Milli
	now := time.Now()
	for _, h := range c.leases {
		if h.until.After(now) {
			sum += h.units
		}
	}
	c.granted = append(c.granted, sum.Float()/ceiling)
}

// figures tells of the questions from one time to another.
func (c *crowd) figures(from, to time.Duration) (f figures) {
	var took []float64
	var at []time.Duration
	failed := 0
	for _, q := range c.asked {
		if q.at < from || q.at >= to {
			continue
		}
		at = append(at, q.at)
		if q.failed {
			failed++
			continue
		}
		took = append(took, q.took.Seconds())
	}
	slices.Sort(took)
	slices.Sort(at)
	f.Failed = float64(failed) / float64(max(len(at), 1))
	if len(took) > 0 {
		f.P95Seconds = took[len(took)*95/100]
	}
	for i := range at {
		n, _ := slices.BinarySearch(at[i:], at[i]+30*time.Second)
		f.LeasesPerSecond = max(f.LeasesPerSecond, float64(n)/30)
	}
	looks := c.granted[min(int(from/time.Second), len(c.granted)):min(int(to/time.Second), len(c.granted))]
	for _, part := range looks {
		f.Granted += part / float64(len(looks))
	}
	return f
}

// servedAfter is the longest that a worker waited for its first share.
func (c *crowd) servedAfter() time.Duration {
	for _, served := range c.served {
		if served == 0 {
			return -time.Second // somebody never had one
		}
	}
	return slices.Max(c.served)
}

// shift moves all demand of fifty workers from one half to the other and tells how
// long it takes until that has nineteen twentieths of the ceiling.
func shift(ctx context.Context, s *harness.Stack) (time.Duration, error) {
	const workers, moved, most = 50, time.Minute, 2 * time.Minute
	c, err := newCrowd(ctx, s, workers)
	if err != nil {
		return 0, err
	}
	c.demand = func(worker int, at time.Duration) throughput.Milli {
		if (worker < workers/2) == (at < moved) {
			return throughput.Units(3 * ceiling / (workers / 2))
		}
		return 0
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.run(ctx, moved+most)
	}()
	pause(ctx, moved)
	began := time.Now()
	for time.Since(began) < most && c.heldBy(workers/2) < ceiling*95/100 {
		pause(ctx, 100*time.Millisecond)
	}
	took := time.Since(began)
	end()
	<-ended
	return took, nil
}

// heldBy is what the workers from one on hold together.
func (c *crowd) heldBy(from int) (units float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.leases[from:] {
		units += h.units.Float()
	}
	return units
}

// pause waits; it reports false when the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
