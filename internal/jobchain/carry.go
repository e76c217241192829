package jobchain

import (
	"encoding/json"
	"strconv"
	"time"
)

// Carried is a chain as one run hands it to the next, next to the document
// whose `finished` holds the outputs. Jobs and tries are rows of numbers, since
// there may be ten thousand; times are milliseconds since Base.
type Carried struct {
	Base        time.Time                  `json:"base"`
	Jobs        [][]int64                  `json:"jobs,omitempty"` // columns below; simple jobs have no row
	Checkpoints map[int]json.RawMessage    `json:"checkpoints,omitempty"`
	Sequences   map[string]CarriedSequence `json:"sequences,omitempty"`
	Log         [][]int64                  `json:"log,omitempty"`
	Types       map[int]string             `json:"types,omitempty"`  // error types by row of the log
	Errors      map[int]string             `json:"errors,omitempty"` // error texts by row of the log
	Dropped     int                        `json:"dropped,omitempty"`
}

// CarriedSequence is a sequence in Carried.
type CarriedSequence struct {
	Restarts int  `json:"restarts,omitempty"`
	Broken   bool `json:"broken,omitempty"`
}

// The columns of a row of Carried.Jobs, and of Carried.Log.
const (
	colJob = iota
	colState
	colTries
	colSpent
	colFlags
	colLost
	colRefused
	colNotBefore
	jobColumns
)

const (
	logJob = iota
	logTry
	logState
	logStarted
	logEnded // 0: open, else 1 + milliseconds after the start
	logColumns
)

const (
	flagRepeat = 1 << iota
	flagInterrupted
	flagFinal
)

// states gives each state its number in a row. Numbers are never given anew.
var states = [...]State{Pending, Running, Suspended, Complete, Fail, Stopped}

func stateNumber(s State) int64 {
	for n, state := range states {
		if state == s {
			return int64(n)
		}
	}
	return 0
}

// Carry writes the chain down, with as much of its log as fits into limit bytes of
// JSON together with the document and other bytes that go along; the oldest tries
// are left out.
func (c *Chain) Carry(base time.Time, other, limit int) (Document, Carried) {
	k := Carried{Base: base, Checkpoints: map[int]json.RawMessage{}, Sequences: map[string]CarriedSequence{}}
	for i := range c.jobs {
		j := &c.jobs[i]
		if j.checkpoint != nil {
			k.Checkpoints[i] = j.checkpoint
		}
		if !j.simple() {
			k.Jobs = append(k.Jobs, c.row(i, base))
		}
	}
	for _, name := range sortedKeys(c.sequences) {
		if s := c.sequences[name]; s.restarts > 0 || s.broken {
			k.Sequences[name] = CarriedSequence{Restarts: s.restarts, Broken: s.broken}
		}
	}
	doc := c.Export()
	c.carryLog(&k, limit-other-encodedSize(doc)-encodedSize(k)-logFrame)
	return doc, k
}

// encodedSize is how many bytes v takes as JSON.
func encodedSize(v any) int {
	encoded, err := json.Marshal(v)
	if err != nil {
		return MaxCarried // not reached: all of it came from JSON
	}
	return len(encoded)
}

// simple jobs have no row: those that were never tried, and those that needed one
// try.
func (j *job) simple() bool {
	return (j.state == Pending || j.state == Complete) && j.tries == change(j.state == Complete) && !j.repeat && j.notBefore.IsZero()
}

// row is a row of Carried.Jobs.
func (c *Chain) row(i int, base time.Time) []int64 {
	j := &c.jobs[i]
	row := make([]int64, jobColumns)
	row[colJob], row[colState], row[colTries], row[colSpent] = int64(i), stateNumber(j.state), int64(j.tries), int64(j.spent)
	row[colFlags] = int64(change(j.repeat)*flagRepeat | change(j.interrupted)*flagInterrupted | change(j.final)*flagFinal)
	row[colLost], row[colRefused], row[colNotBefore] = int64(j.lost), int64(j.refused), since(base, j.notBefore)
	return row
}

// logFrame is what the fields of a log take without any entry.
const logFrame = len(`,"log":[],"types":{},"errors":{},"dropped":`) + maxDigits

// carryLog writes down the latest entries of the log, as many as fit into room
// bytes.
func (c *Chain) carryLog(k *Carried, room int) {
	first := c.log.Len()
	for first > 0 {
		if room -= entrySize(c.log.At(first-1), k.Base); room < 0 {
			break
		}
		first--
	}
	k.Types, k.Errors = map[int]string{}, map[int]string{}
	k.Dropped = c.log.dropped + first
	for n := first; n < c.log.Len(); n++ {
		e := c.log.At(n)
		if e.Type != "" {
			k.Types[n-first] = e.Type
		}
		if e.Error != "" {
			k.Errors[n-first] = e.Error
		}
		k.Log = append(k.Log, logRow(e, k.Base))
	}
}

// entrySize is how many bytes an entry takes at most, whatever its number.
func entrySize(e Entry, base time.Time) int {
	n := len("[],") + logColumns - 1
	for _, v := range logRow(e, base) {
		n += len(strconv.FormatInt(v, 10))
	}
	for _, text := range []string{e.Type, e.Error} {
		if text != "" {
			n += len(`"":,`) + maxDigits + textSize(text)
		}
	}
	return n
}

func logRow(e Entry, base time.Time) []int64 {
	row := make([]int64, logColumns)
	row[logJob], row[logTry], row[logState], row[logStarted] = int64(e.Job), int64(e.Try), stateNumber(e.State), since(base, e.Started)
	if !e.Ended.IsZero() {
		row[logEnded] = 1 + e.Ended.Sub(e.Started).Milliseconds()
	}
	return row
}

// Restore makes the chain that Carry wrote down.
func Restore(doc *Document, request map[string]any, k Carried) *Chain {
	c := NewChain(doc, request)
	for _, name := range sortedKeys(k.Sequences) {
		if s := c.sequences[name]; s != nil {
			s.restarts, s.broken = k.Sequences[name].Restarts, k.Sequences[name].Broken
		}
	}
	for i := range c.jobs {
		if c.jobs[i].state == Complete {
			c.jobs[i].tries = 1
		}
	}
	for _, row := range k.Jobs {
		if len(row) == jobColumns && row[colJob] >= 0 && row[colJob] < int64(len(c.jobs)) {
			c.restoreJob(k, row)
		}
	}
	c.log.dropped = k.Dropped
	for n, row := range k.Log {
		if len(row) == logColumns && row[logJob] >= 0 && row[logJob] < int64(len(c.jobs)) {
			c.restoreEntry(k, n, row)
		}
	}
	return c
}

func (c *Chain) restoreJob(k Carried, row []int64) {
	i := int(row[colJob])
	j := &c.jobs[i]
	j.tries, j.spent = int(row[colTries]), int(row[colSpent])
	j.repeat, j.interrupted = row[colFlags]&flagRepeat != 0, row[colFlags]&flagInterrupted != 0
	c.interrupted += change(j.interrupted)
	j.lost, j.refused, j.notBefore = int(row[colLost]), int(row[colRefused]), at(k.Base, row[colNotBefore])
	j.final = row[colFlags]&flagFinal != 0
	c.remember(i, k.Checkpoints[i])
	if n := row[colState]; n >= 0 && n < int64(len(states)) {
		c.set(i, states[n])
	}
	if j.state == Pending && j.unmet == 0 { // it was put in without its notBefore
		c.queue.push(c.item(i))
	}
	c.recount(i)
}

func (c *Chain) restoreEntry(k Carried, n int, row []int64) {
	e := Entry{Job: int(row[logJob]), Try: int(row[logTry]), Type: k.Types[n], Error: k.Errors[n]}
	if s := row[logState]; s >= 0 && s < int64(len(states)) {
		e.State = states[s]
	}
	e.Started = at(k.Base, row[logStarted])
	if row[logEnded] > 0 {
		e.Ended = e.Started.Add(time.Duration(row[logEnded]-1) * time.Millisecond)
	}
	c.log.entries = append(c.log.entries, e)
	c.jobs[e.Job].entry = len(c.log.entries) - 1
}

// since is 0 for the zero time, else 1 + the milliseconds from base.
func since(base, t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Sub(base).Milliseconds(), 0) + 1
}

func at(base time.Time, n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return base.Add(time.Duration(n-1) * time.Millisecond)
}
