package quiescence

import "time"

// A report from the polling activity to its workflow costs about seven history
// events, and a day of waiting may add a hundred. Changes of phase therefore
// spend tokens: nine at hand, one more every six hours, which makes thirteen
// reports a day at most however the data comes. A change that finds no token is
// told by the heartbeat alone until there is one; the end of a generation is
// always reported.
const (
	reportTokens = 9
	reportEvery  = 6 * time.Hour
)

// Reports is the budget of reports of one watch. Its zero value is a full one.
type Reports struct {
	Spent int       `json:"spent,omitempty"`
	Since time.Time `json:"since,omitzero"` // from when the next token is earned
	Phase string    `json:"phase,omitempty"`
	At    time.Time `json:"at,omitzero"` // of the last report
}

// Due reports whether the phase should be told to the workflow now: it is another
// than was told last, or six hours have passed since.
func (r *Reports) Due(phase string, now time.Time) bool {
	r.earn(now)
	return r.Spent < reportTokens && (phase != r.Phase || now.Sub(r.At) >= reportEvery)
}

// Spare reports whether a report could be made, as far as the last call of Due or
// Told knows.
func (r *Reports) Spare() bool { return r.Spent < reportTokens }

// Told records a report.
func (r *Reports) Told(phase string, now time.Time) {
	r.earn(now)
	if r.Spent == 0 {
		r.Since = now
	}
	r.Spent = min(r.Spent+1, reportTokens)
	r.Phase, r.At = phase, now
}

func (r *Reports) earn(now time.Time) {
	for r.Spent > 0 && now.Sub(r.Since) >= reportEvery {
		r.Spent--
		r.Since = r.Since.Add(reportEvery)
	}
}
