package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is what a fault does.
type Kind string

// The kinds of faults. The first four concern a worker, the rest the services.
const (
	Kill       Kind = "kill"        // SIGKILL, and another worker in its place
	Terminate  Kind = "terminate"   // SIGTERM, and another worker in its place
	Freeze     Kind = "freeze"      // SIGSTOP, and SIGCONT when it is over
	KillServer Kind = "server"      // SIGKILL of the Temporal server, started again on its file
	LoseAnswer Kind = "answers"     // work is done, its answer lost
	Throttle   Kind = "throttle"    // calls are refused for their rate
	FailParts  Kind = "parts"       // some entries of batches are refused
	Expire     Kind = "expire"      // credentials have expired
	MoveShards Kind = "shards"      // a shard is split, or two are merged
	Refuse     Kind = "unavailable" // the service answers 503
)

// services are the kinds of service faults, one of which comes at each beat of the plan.
var services = []Kind{LoseAnswer, Throttle, FailParts, Expire, MoveShards, Refuse}

// A Fault comes at a time from the plan's start and lasts for a length, where it is not
// of a moment.
type Fault struct {
	At     time.Duration
	Kind   Kind
	Worker int // which of the workers
	For    time.Duration
	// Call is which of the calls of service faults it is, from 0; the driver takes it
	// modulo those that can have such a fault.
	Call int
}

func (f Fault) String() string {
	return fmt.Sprintf("%6.1fs %s worker=%d for=%s call=%d", f.At.Seconds(), f.Kind, f.Worker, f.For, f.Call)
}

// Sizes of a plan: how many faults there are of workers and of the server.
type Sizes struct {
	Workers int // that there are
	Kills   int // SIGKILLs of workers; a third as many SIGTERMs and SIGSTOPs each
	Servers int // SIGKILLs of the server
}

const (
	// between is the mean time between two kills of workers: they come back and have
	// work under way.
	between = 4 * time.Second
	// longestFreeze is beyond the time in which the loss of a worker that works is
	// noticed by most activities, so that some wake up replaced.
	longestFreeze = 20 * time.Second
	longestFault  = 3 * time.Second
)

// Length is how long the plan's faults last in all.
func (s Sizes) Length() time.Duration { return time.Duration(s.Kills+1) * between }

// Plan makes the faults of a seed, in order of time: the same for the same seed and
// sizes. Every service fault comes once in so many kills as there are kinds.
func Plan(seed uint64, s Sizes) (faults []Fault) {
	random := rand.New(rand.NewPCG(seed, 0))
	length := s.Length()
	spread := func(n int, one func() Fault) {
		for i := range n {
			f := one()
			// One in each of n equal parts of the time, so that none of them is without.
			part := length / time.Duration(n)
			f.At = time.Duration(i)*part + time.Duration(random.Int64N(int64(part)))
			faults = append(faults, f)
		}
	}
	worker := func(kind Kind) func() Fault {
		return func() Fault { return Fault{Kind: kind, Worker: random.IntN(max(s.Workers, 1))} }
	}
	others := (s.Kills + 2) / 3
	spread(s.Kills, worker(Kill))
	spread(others, worker(Terminate))
	spread(others, func() Fault {
		f := worker(Freeze)()
		f.For = time.Second + time.Duration(random.Int64N(int64(longestFreeze)))
		return f
	})
	spread(s.Servers, func() Fault { return Fault{Kind: KillServer} })
	kind := 0
	spread(max(s.Kills, len(services)), func() Fault {
		f := Fault{Kind: services[kind%len(services)], Call: random.IntN(1 << 16), For: time.Second + time.Duration(random.Int64N(int64(longestFault)))}
		kind++
		return f
	})
	slices.SortStableFunc(faults, func(a, b Fault) int { return int(a.At - b.At) })
	return faults
}

// Count is how many faults of a kind a plan has.
func Count(faults []Fault, kind Kind) (n int) {
	for _, f := range faults {
		if f.Kind == kind {
			n++
		}
	}
	return n
}
