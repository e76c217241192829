package kinesis

import (
	"sync"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/internal/recordbatch"
)

// maxFailed is how many failed records an output lists; more are counted.
const maxFailed = 1000

// PutRecordsOutput tells what became of the records given. RecordCount is
// StoredRecordCount and FailedRecordCount together.
type PutRecordsOutput struct {
	RecordCount        int64            `json:"RecordCount"`
	StoredRecordCount  int64            `json:"StoredRecordCount"`
	FailedRecordCount  int64            `json:"FailedRecordCount"`
	PutRecordsCalls    int64            `json:"PutRecordsCalls"`    // requests in which records of this call went
	PossiblyDuplicated int64            `json:"PossiblyDuplicated"` // records of which a second copy may be stored
	Shards             map[string]int64 `json:"Shards"`             // stored records by shard
	Failed             []FailedRecord   `json:"Failed"`             // the first 1,000
}

// FailedRecord is a record that is not stored, by its number in the input.
type FailedRecord struct {
	Index        int64  `json:"Index"`
	ErrorCode    string `json:"ErrorCode"`
	ErrorMessage string `json:"ErrorMessage"`
	Attempts     int    `json:"Attempts"`

	call bool // the whole request failed
}

// letter is a failed record on its way to where failed records are kept.
type letter struct {
	FailedRecord
	recordbatch.Record
}

// putCall follows the records of one call to their ends.
type putCall struct {
	rules   recordbatch.Call
	letters bool // failed records go elsewhere, and are settled when they are there
	news    chan struct{}
	turn    chan struct{} // to queue more

	mu       sync.Mutex
	progress *recordbatch.Progress
	ends     *recordbatch.Ends // of an object's records
	output   PutRecordsOutput
	pending  []letter
	denied   *recordbatch.Outcome
	unsureTo int64                // no record from here on may have a copy unknown to us
	serial   uint64               // of the last request that had records of this call
	shards   recordbatch.ShardMap // of counts
	counts   []int64              // stored records by shard, not yet in the output
	// lastError is why records are sent again, "" once some are stored.
	lastError string
}

func newPutCall(rules recordbatch.Call, progress *recordbatch.Progress, output PutRecordsOutput) *putCall {
	if output.Shards == nil {
		output.Shards = map[string]int64{}
	}
	c := &putCall{rules: rules, progress: progress, output: output, news: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	c.rules.Owner = c
	return c
}

// ended takes the ends of the request's records from..to.
func (c *putCall) ended(r *recordbatch.Request, from, to int, outcome recordbatch.Outcome, serial uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.tell()
	if c.serial != serial {
		c.serial = serial
		c.output.PutRecordsCalls++
	}
	stored, again := false, -1
	for i := from; i < to; i++ {
		switch r.EndOf(i) {
		case recordbatch.EndAgain:
			again = i
		case recordbatch.EndStored:
			c.stored(r, i)
			stored = true
		case recordbatch.EndFailed:
			c.failed(&r.Items[i], r.VerdictOf(i), outcome)
		case recordbatch.EndOwed:
			if it := &r.Items[i]; it.Unconfirmed {
				c.unsureTo = max(c.unsureTo, it.Index+1)
			}
		}
	}
	switch {
	case again >= 0:
		c.sentAgain(r.VerdictOf(again), outcome)
	case stored:
		c.lastError = ""
	}
}

// sentAgain notes why a record is.
func (c *putCall) sentAgain(v *recordbatch.Verdict, outcome recordbatch.Outcome) {
	switch {
	case outcome.Kind != recordbatch.Answered:
		c.lastError = awscall.Words(outcome.Code, outcome.Message)
	case v.Told != nil && v.Told.Code != "":
		c.lastError = awscall.Words(v.Told.Code, brief(v.Told.Message))
	}
}

// tell wakes the one who waits for the call's records, now or next.
func (c *putCall) tell() {
	activities.Notify(c.news)
}

// addShard counts stored records by shard: by its position while the map stays,
// since looking up names for every record would cost more than all the rest.
func (c *putCall) addShard(r *recordbatch.Request, i int) {
	position, shards := r.ShardOf(i)
	if told := r.VerdictOf(i).Told; told != nil {
		c.output.Shards[told.Shard]++
		return
	}
	if len(c.shards) == 0 || &c.shards[0] != &shards[0] {
		c.sumShards()
		c.shards, c.counts = shards, make([]int64, len(shards))
	}
	c.counts[position]++
}

// sumShards brings the output's counts by shard up to date.
func (c *putCall) sumShards() {
	for i, n := range c.counts {
		if n > 0 {
			c.output.Shards[c.shards[i].ID] += n
			c.counts[i] = 0
		}
	}
}

func (c *putCall) stored(r *recordbatch.Request, i int) {
	it := &r.Items[i]
	c.output.StoredRecordCount++
	c.addShard(r, i)
	if it.Unconfirmed {
		c.output.PossiblyDuplicated++
	}
	c.progress.Settle(it.Index)
}

func (c *putCall) failed(it *recordbatch.Item, v *recordbatch.Verdict, outcome recordbatch.Outcome) {
	if it.Unconfirmed {
		c.output.PossiblyDuplicated++
	}
	c.set(FailedRecord{Index: it.Index, ErrorCode: v.Told.Code, ErrorMessage: brief(v.Told.Message), Attempts: int(it.Attempts),
		call: outcome.Kind != recordbatch.Answered && outcome.Kind != recordbatch.Unfit}, it.Record)
}

// setAside counts a record as failed that was never sent.
func (c *putCall) setAside(index int64, record *recordbatch.Record, fault recordbatch.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(FailedRecord{Index: index, ErrorCode: fault.Code, ErrorMessage: fault.Message}, record)
}

// set makes a failure final, or keeps it until it is written elsewhere.
func (c *putCall) set(f FailedRecord, record *recordbatch.Record) {
	if c.letters {
		c.pending = append(c.pending, letter{f, *record})
		return
	}
	c.fail(f)
}

// fail makes a failure final.
func (c *putCall) fail(f FailedRecord) {
	c.output.FailedRecordCount++
	if len(c.output.Failed) < maxFailed {
		c.output.Failed = append(c.output.Failed, f)
	}
	c.progress.Settle(f.Index)
}

// deny ends the call: its stream can't be written to.
func (c *putCall) deny(outcome recordbatch.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.denied == nil {
		c.denied = &outcome
	}
}

// took notes where the record that was read next ends, and says whether an
// earlier attempt has settled it.
func (c *putCall) took(end int64) (settled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.ends.Next()
	c.ends.Took(end)
	return c.progress.Has(n)
}

// fits asks the progress.
func (c *putCall) fits(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.progress.Fits(n)
}

// settledCount is how many records are settled, by this and earlier attempts.
func (c *putCall) settledCount() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.progress.Settled()
}

// refusal is the outcome with which the call was denied, or nil.
func (c *putCall) refusal() *recordbatch.Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.denied
}
