package jobchain

import (
	"encoding/json"
	"strconv"
	"time"
)

// What a run may carry is reckoned before it is written: a run that handed more to
// the next would be terminated by the server. Each job has its share, which is
// never less than what the row of a job takes, however it fails: so a job that has
// no room for its output or its checkpoint can still be failed for that.
const (
	carriedRow   = 48       // bytes of a job's row in Carried.Jobs, that of a failed one in any case
	carriedChild = 160      // bytes of a child workflow that runs on
	carriedFixed = 32 << 10 // bytes of all that is there once: the gate with the words of people, instants, names of fields
)

// Carried is how many bytes the document takes in what a run carries, with what
// is kept about its jobs at the least. A document of more than MaxCarried can't
// be run; its finished outputs come on top.
func (d *Document) Carried() int {
	copied := *d
	copied.Finished = nil
	encoded, err := json.Marshal(copied)
	if err != nil {
		return MaxCarried + 1 // not reached: a document that was read can be written
	}
	children := 0
	for i := range d.Jobs {
		children += change(d.Jobs[i].Workflow != "")
	}
	bytes := len(encoded) + len(d.Jobs)*carriedRow + min(children, d.Parallel())*carriedChild + carriedFixed
	for _, name := range sortedKeys(d.Sequences) {
		bytes += textSize(name) + len(`:{"restarts":,"broken":true},`) + maxDigits
	}
	return bytes
}

// CarriedAtFirst is Carried with the finished outputs.
func (d *Document) CarriedAtFirst() int {
	bytes := d.Carried()
	for _, id := range sortedKeys(d.Finished) {
		bytes += finishedSize(id, d.Finished[id])
	}
	return bytes
}

// finishedSize is what an output takes in `finished`: "id":output and a comma.
func finishedSize(id string, output json.RawMessage) int { return size(output) + len(id) + len(`"":,`) }

// maxDigits is how many digits a number has at most.
const maxDigits = 20

// textSize is how many bytes text takes as JSON.
func textSize(text string) int {
	encoded, err := json.Marshal(text)
	if err != nil {
		return len(text) // not reached: text can be written
	}
	return len(encoded)
}

// size is how many bytes raw takes when it is written into another document.
func size(raw json.RawMessage) int {
	if len(raw) == 0 {
		return len("null")
	}
	encoded, err := json.Marshal(raw)
	if err != nil {
		return len(raw)
	}
	return len(encoded)
}

// outputSize is what an output of job i takes.
func (c *Chain) outputSize(i int, output json.RawMessage) int {
	return finishedSize(c.doc.Jobs[i].ID, output)
}

// checkpointSize is what a checkpoint takes in Carried.Checkpoints.
func checkpointSize(checkpoint json.RawMessage) int {
	return size(checkpoint) + len(`"9999":,`)
}

// share is what job i takes besides its part of the document and carriedRow, which
// the document's own size has in it already.
func (c *Chain) share(i int) int {
	return c.jobs[i].outputBytes + c.jobs[i].checkpointBytes + max(c.rowSize(i)-carriedRow, 0)
}

// recount brings the account up to date with job i.
func (c *Chain) recount(i int) {
	j := &c.jobs[i]
	c.carried -= j.share
	j.share = c.share(i)
	c.carried += j.share
}

// rowSize is what job i's row takes with a comma, whenever it is written: since the
// beginning of time is longer ago than any base.
func (c *Chain) rowSize(i int) int {
	n := len("[],") + jobColumns - 1
	for _, v := range c.row(i, time.Time{}) {
		n += len(strconv.FormatInt(v, 10))
	}
	return n
}

// fits reports that job i may have so many bytes of output and checkpoint.
func (c *Chain) fits(i, bytes int) bool {
	const widestRow = len("[9999,9,,,9,99,,],") + 4*maxDigits
	return c.carriedWith(i, bytes)+widestRow-carriedRow <= c.limit
}

// carriedWith is what the run carries if job i has so many bytes in place of its
// own.
func (c *Chain) carriedWith(i, bytes int) int { return c.carried - c.jobs[i].share + bytes }
