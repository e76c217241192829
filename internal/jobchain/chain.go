package jobchain

import (
	"encoding/json"
	"time"

	"sluice/internal/jmespath"
)

// State is the state of a job or of a request; the words are the contract's.
type State string

// The states. A request is never PENDING, a job never SUSPENDED: one that was
// stopped by a suspension is STOPPED until the request is resumed.
const (
	Pending   State = "PENDING"
	Running   State = "RUNNING"
	Suspended State = "SUSPENDED"
	Complete  State = "COMPLETE"
	Fail      State = "FAIL"
	Stopped   State = "STOPPED"
)

// Chain is the jobs of a request and where each of them is.
//
// A job may start when it is PENDING and all jobs named in its after are
// COMPLETE; of those that may, the one of the best priority goes first, then the
// one that comes first in the list. Jobs beside a failed one go on.
type Chain struct {
	doc       *Document
	jobs      []job
	next      [][]int // jobs that wait for the job at this index
	sequences map[string]*sequence
	data      *Data // nil while no input asks for anything
	queue     queue
	log       Log
	byID      map[string]int // made by the first view that needs it

	counts  map[State]int
	open    int // PENDING jobs whose predecessors are all COMPLETE
	carried int // bytes that a run would hand on now at most, log left out
	limit   int // of carried: MaxCarried, but in tests

	interrupted int // jobs that a suspension stopped
}

// job is where one job is.
type job struct {
	state       State
	unmet       int             // predecessors that are not COMPLETE
	tries       int             // number of the latest try; never falls
	spent       int             // tries that counted, since the sequence last restarted
	repeat      bool            // the next dispatch is under the same number
	interrupted bool            // STOPPED by a suspension: PENDING again on resume
	lost        int             // heartbeat timeouts in a row
	refused     int             // Throttled and Unavailable in a row
	notBefore   time.Time       // of the next dispatch
	checkpoint  json.RawMessage // what the last try left
	output      json.RawMessage // COMPLETE
	final       bool            // FAIL by an error that is never retried, whoever asks
	entry       int             // latest entry in the log, or -1

	// What the account has of it, in bytes (account.go).
	outputBytes, checkpointBytes, share int
}

// NewChain takes a document that Check found no fault with. request is what
// expressions see as `request`; finished jobs count as COMPLETE.
func NewChain(doc *Document, request map[string]any) *Chain {
	c := &Chain{
		doc:       doc,
		jobs:      make([]job, len(doc.Jobs)),
		next:      make([][]int, len(doc.Jobs)),
		sequences: map[string]*sequence{},
		counts:    map[State]int{Pending: len(doc.Jobs)},
		carried:   doc.Carried(),
		limit:     MaxCarried,
	}
	index := make(map[string]int, len(doc.Jobs))
	for i := range doc.Jobs {
		index[doc.Jobs[i].ID] = i
		c.jobs[i] = job{state: Pending, unmet: len(doc.Jobs[i].After), entry: -1}
		if mayHoldTemplate(doc.Jobs[i].Input) && c.data == nil {
			c.data = NewData(doc.Args, request)
		}
	}
	for i := range doc.Jobs {
		for _, id := range doc.Jobs[i].After {
			c.next[index[id]] = append(c.next[index[id]], i)
		}
		if name := doc.Jobs[i].Sequence; name != "" {
			c.join(name, i)
		}
		if c.jobs[i].unmet == 0 {
			c.open++
			c.queue.push(c.item(i))
		}
	}
	for i := range doc.Jobs {
		if output, ok := doc.Finished[doc.Jobs[i].ID]; ok {
			c.keep(i, output)
			c.set(i, Complete)
		}
	}
	doc.Finished = nil // the chain has them now
	return c
}

// Job is the document of job i.
func (c *Chain) Job(i int) *Job { return &c.doc.Jobs[i] }

// Total is the number of jobs.
func (c *Chain) Total() int { return len(c.jobs) }

// Finished is the number of COMPLETE jobs.
func (c *Chain) Finished() int { return c.counts[Complete] }

// Count is the number of jobs in a state.
func (c *Chain) Count(s State) int { return c.counts[s] }

// Done reports that no job runs and none ever will: neither one that may start
// now or later, nor one that was interrupted, nor a sequence that starts anew.
func (c *Chain) Done() bool { return c.counts[Running] == 0 && c.open == 0 && !c.Interrupted() }

// Outcome is how a chain that is done ends: COMPLETE when all jobs are, FAIL
// when one failed, else STOPPED.
func (c *Chain) Outcome() State {
	switch {
	case c.counts[Complete] == len(c.jobs):
		return Complete
	case c.counts[Fail] > 0:
		return Fail
	default:
		return Stopped
	}
}

// Next takes the job that is to be dispatched next, if there is one at now.
func (c *Chain) Next(now time.Time) (i int, ok bool) {
	for {
		item, ok := c.queue.pop(now)
		if !ok {
			return 0, false
		}
		if c.ready(item.job, now) {
			return item.job, true
		}
	}
}

// WakeAt is when the next waiting job may start; zero when none waits.
func (c *Chain) WakeAt() time.Time { return c.queue.wakeAt() }

func (c *Chain) ready(i int, now time.Time) bool {
	j := &c.jobs[i]
	return j.state == Pending && j.unmet == 0 && !c.held(i) && !j.notBefore.After(now)
}

func (c *Chain) item(i int) item {
	return item{job: i, priority: c.doc.Jobs[i].Priority, notBefore: c.jobs[i].notBefore}
}

// Templated reports that job i's input may ask for values.
func (c *Chain) Templated(i int) bool { return mayHoldTemplate(c.doc.Jobs[i].Input) }

// Input is job i's input with the values that it asks for, and how many steps of
// evaluation it cost. An error means that one is not there, or that the input
// can't be made of it.
func (c *Chain) Input(i int) (input json.RawMessage, steps int, err error) {
	budget := jmespath.NewBudget(maxInputSteps)
	input, err = Resolve(c.doc.Jobs[i].Input, c.data, budget)
	return input, budget.Spent(), err
}

// Start marks job i as dispatched at now and returns the number of the try and
// the checkpoint that it goes on from.
func (c *Chain) Start(i int, now time.Time) (try int, checkpoint json.RawMessage) {
	j := &c.jobs[i]
	if !j.repeat {
		j.tries++
		j.entry = c.log.open(i, j.tries, now)
	} else {
		j.entry = c.log.reopen(j.entry, i, j.tries, now)
	}
	j.repeat = false
	c.set(i, Running)
	c.recount(i)
	return j.tries, j.checkpoint
}

// set moves job i to a state and keeps the counts and its successors' right.
func (c *Chain) set(i int, s State) {
	j := &c.jobs[i]
	was := j.state
	if was == s {
		return
	}
	if j.unmet == 0 {
		c.open += change(s == Pending) - change(was == Pending)
	}
	c.counts[was]--
	c.counts[s]++
	j.state = s
	if was == Complete || s == Complete {
		c.meet(i, s == Complete)
	}
	if s == Pending && j.unmet == 0 {
		c.queue.push(c.item(i))
	}
}

// meet tells the jobs after job i that it is now COMPLETE, or no longer.
func (c *Chain) meet(i int, complete bool) {
	for _, n := range c.next[i] {
		after := &c.jobs[n]
		was := after.unmet
		after.unmet += 1 - 2*change(complete)
		if after.state != Pending || (was != 0 && after.unmet != 0) {
			continue
		}
		c.open += change(after.unmet == 0) - change(was == 0)
		if after.unmet == 0 {
			c.queue.push(c.item(n))
		}
	}
}

func change(b bool) int {
	if b {
		return 1
	}
	return 0
}

// keep stores an output where expressions find it.
func (c *Chain) keep(i int, output json.RawMessage) {
	if len(output) == 0 {
		output = json.RawMessage("null")
	}
	c.jobs[i].output, c.jobs[i].outputBytes = output, c.outputSize(i, output)
	c.recount(i)
	if c.data != nil {
		c.data.Set(c.doc.Jobs[i].ID, output)
	}
}

func (c *Chain) drop(i int) {
	if c.jobs[i].output == nil {
		return
	}
	c.jobs[i].output, c.jobs[i].outputBytes = nil, 0
	c.recount(i)
	if c.data != nil {
		c.data.Unset(c.doc.Jobs[i].ID)
	}
}

// remember keeps a checkpoint for the next try; nil leaves the one before.
func (c *Chain) remember(i int, checkpoint json.RawMessage) {
	if checkpoint == nil {
		return
	}
	c.jobs[i].checkpoint, c.jobs[i].checkpointBytes = checkpoint, checkpointSize(checkpoint)
	c.recount(i)
}

func (c *Chain) forget(i int) {
	c.jobs[i].checkpoint, c.jobs[i].checkpointBytes = nil, 0
	c.recount(i)
}
