package jobchain

import (
	"encoding/json"
	"fmt"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/errortype"
)

// Kind is what the end of a try means for its job.
type Kind int

// The kinds of ends. All but Interrupted, Refused, Lost and Paused
// close the try.
const (
	Succeeded   Kind = iota // COMPLETE
	Failed                  // counts as a try; retried while retries are left
	Final                   // counts, and is never retried
	Interrupted             // the worker is stopping: repeated under its number at once
	Refused                 // Throttled or Unavailable: repeated under its number after a delay
	Lost                    // heartbeat timeout: repeated under its number, at most ten in a row
	Halted                  // a child request that ended STOPPED: so is the job
	Paused                  // a suspension asked it to stop: STOPPED until resume, then repeated under its number
)

// MaxLost is how many heartbeat timeouts in a row fail a job: such a job takes
// its workers with it.
const MaxLost = 10

// refusedBackoff spaces the repeats of a job that a service refused; an
// interrupted or lost one goes on at once.
var refusedBackoff = backoff.Policy{Base: 2 * time.Second, Cap: time.Minute}

// again is the least wait before a dispatch under the same number: Temporal
// takes the same activity ID twice in a run, but not in one workflow task.
const again = time.Millisecond

// End is how a try ended.
type End struct {
	Kind       Kind
	Output     json.RawMessage // Succeeded
	Type       string          // of the error
	Error      string          // the error in words
	Delay      time.Duration   // Refused: when to ask again, 0 leaves it to the back-off
	Random     float64         // Refused: in [0, 1), spreads the repeats
	Checkpoint json.RawMessage // what the try left for the next one; nil for nothing new
	IDSpent    bool            // Paused: the next dispatch has another activity ID, so need not wait
}

// End closes the dispatch of job i.
func (c *Chain) End(i int, now time.Time, e End) {
	e = c.fit(i, e)
	j := &c.jobs[i]
	c.remember(i, e.Checkpoint)
	if e.Kind != Lost {
		j.lost = 0
	}
	if e.Kind != Refused {
		j.refused = 0
	}
	switch {
	case e.Kind == Succeeded:
		c.forget(i)
		c.keep(i, e.Output)
		c.close(i, now, Complete, End{})
	case e.Kind == Paused:
		c.interrupt(i, now, e)
	case e.Kind == Halted:
		c.close(i, now, Stopped, e)
	case e.Kind == Interrupted, e.Kind == Refused, e.Kind == Lost:
		c.repeat(i, now, e)
	default:
		c.fail(i, now, e)
	}
	c.recount(i)
	c.settle(i, now)
}

// fit fails a try whose output or checkpoint would make a run carry too much.
func (c *Chain) fit(i int, e End) End {
	j := &c.jobs[i]
	bytes, what := j.checkpointBytes, "checkpoint"
	if e.Checkpoint != nil {
		bytes = checkpointSize(e.Checkpoint)
	}
	if e.Kind == Succeeded {
		bytes, what = c.outputSize(i, e.Output), "output"
	}
	if bytes == 0 || c.fits(i, bytes) {
		return e
	}
	return End{Kind: Final, Type: errortype.TooLarge, Error: fmt.Sprintf(
		"job %s: %s of %d bytes: the request would carry %d bytes, more than %d; keep large data elsewhere and hand on where it is",
		c.doc.Jobs[i].ID, what, bytes, c.carriedWith(i, bytes), c.limit)}
}

// Refuse fails job i, which can't be dispatched.
func (c *Chain) Refuse(i int, now time.Time, errType, message string) {
	c.Start(i, now)
	c.End(i, now, End{Kind: Final, Type: errType, Error: message})
}

// fail counts the try and leaves the job to be tried again or FAILed.
func (c *Chain) fail(i int, now time.Time, e End) {
	j, doc := &c.jobs[i], &c.doc.Jobs[i]
	j.spent++
	if e.Kind == Final || j.spent > doc.Retry {
		j.final = errortype.Final(e.Type)
		c.forget(i)
		c.close(i, now, Fail, e)
		return
	}
	c.log.close(j.entry, now, Fail, e)
	j.notBefore = later(now, doc.RetryWait.Std())
	c.set(i, Pending)
}

// repeat leaves the job to be dispatched again under the same number.
func (c *Chain) repeat(i int, now time.Time, e End) {
	j := &c.jobs[i]
	wait := again
	switch e.Kind {
	case Lost:
		if j.lost++; j.lost >= MaxLost {
			e.Kind, e.Type = Final, errortype.WorkerLost
			e.Error = fmt.Sprintf("%d heartbeat timeouts in a row: %s", j.lost, e.Error)
			c.fail(i, now, e)
			return
		}
	case Refused:
		j.refused++
		if wait = e.Delay; wait <= 0 {
			wait = max(refusedBackoff.Delay(j.refused, e.Random), refusedBackoff.Base/2)
		}
	}
	j.repeat = true
	j.notBefore = now.Add(max(wait, again))
	c.log.close(j.entry, now, Pending, e)
	c.set(i, Pending)
}

// interrupt leaves the job STOPPED until the request is resumed.
func (c *Chain) interrupt(i int, now time.Time, e End) {
	j := &c.jobs[i]
	j.repeat, j.interrupted = true, true
	c.interrupted++
	j.notBefore = now.Add(again)
	if e.IDSpent {
		j.notBefore = time.Time{}
	}
	e.Type, e.Error = "", ""
	c.log.close(j.entry, now, Stopped, e)
	c.set(i, Stopped)
}

func (c *Chain) close(i int, now time.Time, s State, e End) {
	c.jobs[i].notBefore = time.Time{}
	c.log.close(c.jobs[i].entry, now, s, e)
	c.set(i, s)
}

// Interrupted reports that a job was stopped by a suspension.
func (c *Chain) Interrupted() bool { return c.interrupted > 0 }

// Release makes the jobs that a suspension stopped PENDING again.
func (c *Chain) Release() {
	if c.interrupted == 0 {
		return
	}
	c.interrupted = 0
	for i := range c.jobs {
		if c.jobs[i].interrupted {
			c.jobs[i].interrupted = false
			c.set(i, Pending)
		}
	}
}

// Halt marks job i, which was asked to stop and is not waited for any longer,
// as STOPPED: whatever it still does has no effect on the request.
func (c *Chain) Halt(i int, now time.Time, why string) {
	c.close(i, now, Stopped, End{Error: why})
}

// later is now plus a wait, and the zero time for none: the job is ready then.
func later(now time.Time, wait time.Duration) time.Time {
	if wait <= 0 {
		return time.Time{}
	}
	return now.Add(wait)
}

// Repeats is how often in a row a service has refused job i.
func (c *Chain) Repeats(i int) int { return c.jobs[i].refused }

// Peek is the number under which job i is dispatched next, and the checkpoint
// that it goes on from.
func (c *Chain) Peek(i int) (try int, checkpoint json.RawMessage) {
	j := &c.jobs[i]
	return j.tries + change(!j.repeat), j.checkpoint
}

// ToRepeat reports that job i is to be dispatched again under this number, now
// or once the request is resumed.
func (c *Chain) ToRepeat(i, number int) bool { return c.jobs[i].repeat && c.jobs[i].tries == number }
