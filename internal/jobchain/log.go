package jobchain

import (
	"time"

	"sluice/internal/limits"
)

// maxErrorText bounds an error in the log, in bytes: ten thousand of them have
// to be shown, and what failed holds its own in full.
const maxErrorText = 500

// maxErrorType bounds the type of an error in the log, in bytes.
const maxErrorType = 200

// Entry is one try of one job.
type Entry struct {
	Job     int // index in the document
	Try     int
	State   State // RUNNING; PENDING when it is to be dispatched again; else its end
	Type    string
	Error   string
	Started time.Time // first dispatch
	Ended   time.Time // zero while it is open
}

// Log has an entry for each try, in the order of their first dispatch. The
// numbers of a job's tries are unique in it and rise.
type Log struct {
	entries []Entry
	dropped int // the oldest, which did not fit into what a run carries
}

func (l *Log) open(job, try int, now time.Time) int {
	l.entries = append(l.entries, Entry{Job: job, Try: try, State: Running, Started: now})
	return len(l.entries) - 1
}

// reopen goes on with the entry of a try that is dispatched again.
func (l *Log) reopen(at, job, try int, now time.Time) int {
	if at < 0 || l.entries[at].Try != try {
		return l.open(job, try, now)
	}
	e := &l.entries[at]
	e.State, e.Type, e.Error, e.Ended = Running, "", "", time.Time{}
	return at
}

func (l *Log) close(at int, now time.Time, s State, e End) {
	if at < 0 {
		return
	}
	entry := &l.entries[at]
	entry.State, entry.Type, entry.Error = s, limits.Clip(e.Type, maxErrorType), limits.Clip(e.Error, maxErrorText)
	if s != Pending {
		entry.Ended = now
	}
}

// Len is the number of entries, and Dropped how many older ones are gone.
func (l *Log) Len() int { return len(l.entries) }

// Dropped is how many of the oldest entries were given up, so that what a run
// carries stays within MaxCarried.
func (l *Log) Dropped() int { return l.dropped }

// At returns entry n, counted from the oldest that is kept.
func (l *Log) At(n int) Entry { return l.entries[n] }

// Log is the log of the chain's tries.
func (c *Chain) Log() *Log { return &c.log }
