package jobchain

import (
	"encoding/json"
	"fmt"
	"time"

	"sluice/internal/errortype"
)

// JobView is what there is to see of a job.
type JobView struct {
	State    State
	Tries    int
	Started  time.Time // of the latest try; zero when it never ran
	Ended    time.Time
	Type     string // of the latest error
	Error    string
	WaitsFor []string // what keeps a PENDING job from starting
}

// maxWaitsFor bounds the jobs that a view names as waited for.
const maxWaitsFor = 10

// View shows job i.
func (c *Chain) View(i int) JobView {
	j := &c.jobs[i]
	v := JobView{State: j.state, Tries: j.tries}
	if j.entry >= 0 {
		e := c.log.At(j.entry)
		v.Started, v.Ended, v.Type, v.Error = e.Started, e.Ended, e.Type, e.Error
	}
	switch {
	case j.state == Pending:
		v.WaitsFor = c.waitsFor(i)
	case j.state == Running && j.lost > 0:
		v.Error = fmt.Sprintf("dispatched again: its worker was lost (%d in a row)", j.lost)
	}
	return v
}

func (c *Chain) waitsFor(i int) []string {
	j, doc := &c.jobs[i], &c.doc.Jobs[i]
	var waits []string
	if j.unmet > 0 {
		for _, id := range doc.After {
			if c.state(id) == Complete {
				continue
			}
			if len(waits) == maxWaitsFor {
				return append(waits, fmt.Sprintf("%d more", j.unmet-maxWaitsFor))
			}
			waits = append(waits, id)
		}
		return waits
	}
	if c.held(i) {
		waits = append(waits, "the running jobs of sequence "+doc.Sequence)
	}
	if !j.notBefore.IsZero() {
		waits = append(waits, "not before "+j.notBefore.UTC().Format(time.RFC3339))
	}
	return waits
}

// state is the state of a job by its ID. Views are asked for seldom, so the
// index is made when one is.
func (c *Chain) state(id string) State {
	if c.byID == nil {
		c.byID = make(map[string]int, len(c.jobs))
		for i := range c.doc.Jobs {
			c.byID[c.doc.Jobs[i].ID] = i
		}
	}
	return c.jobs[c.byID[id]].state
}

// StoppedJobs are the first STOPPED jobs in the order of the list, so many at most.
func (c *Chain) StoppedJobs(most int) (jobs []int) {
	most = min(most, c.counts[Stopped])
	for i := 0; len(jobs) < most; i++ {
		if c.jobs[i].state == Stopped {
			jobs = append(jobs, i)
		}
	}
	return jobs
}

// Behind names jobs that wait for job i, so many at most, and counts the others.
func (c *Chain) Behind(i, most int) (ids []string, more int) {
	for _, n := range c.next[i] {
		switch {
		case c.jobs[n].state != Pending:
		case len(ids) < most:
			ids = append(ids, c.doc.Jobs[n].ID)
		default:
			more++
		}
	}
	return ids, more
}

// NextWaiting is the job whose next dispatch is due first of those that wait for it.
func (c *Chain) NextWaiting() (i int, ok bool) {
	if len(c.queue.later) == 0 {
		return 0, false
	}
	return c.queue.later[0].job, true
}

// Waits is the trouble of a job that failed and waits for its next dispatch. A single
// failure is none, which the next one mends most often, unless the wait is long.
func (c *Chain) Waits(now time.Time) errortype.Trouble {
	for _, item := range c.queue.later[:min(len(c.queue.later), mostWaiting)] {
		j := &c.jobs[item.job]
		if j.state != Pending || j.entry < 0 || j.notBefore.IsZero() {
			continue
		}
		e := c.log.At(j.entry)
		again := j.refused > 1 || j.spent > 1 || j.lost > 1 || j.notBefore.Sub(now) >= longWait
		if again && e.Type != errortype.WorkerStopping {
			return errortype.Trouble{Type: e.Type, Error: "job " + c.doc.Jobs[item.job].ID + ": " + e.Error}.Typed()
		}
	}
	return errortype.Trouble{}
}

const (
	mostWaiting = 100 // jobs that Waits looks at
	longWait    = 30 * time.Second
)

// Index is the job of this ID.
func (c *Chain) Index(id string) (int, bool) {
	c.state(c.doc.Jobs[0].ID)
	i, ok := c.byID[id]
	return i, ok
}

// Output is the output of job i; it counts while the job is COMPLETE.
func (c *Chain) Output(i int) (json.RawMessage, bool) {
	return c.jobs[i].output, c.jobs[i].state == Complete
}

// Outputs are the outputs of the COMPLETE jobs in the order of the list, as many
// as take up at most limit bytes together, and how many were left out.
func (c *Chain) Outputs(limit int) (outputs map[string]json.RawMessage, omitted int) {
	outputs = make(map[string]json.RawMessage, c.Finished())
	taken := 0
	for i := range c.jobs {
		output, ok := c.Output(i)
		if !ok {
			continue
		}
		if n := c.outputSize(i, output); taken+n <= limit {
			outputs[c.doc.Jobs[i].ID] = output
			taken += n
			continue
		}
		omitted++
	}
	return outputs, omitted
}

// Export is the request as a document that starts it elsewhere, or again, with
// its COMPLETE jobs kept.
func (c *Chain) Export() Document {
	d := *c.doc
	d.Finished, _ = c.Outputs(MaxCarried)
	return d
}
