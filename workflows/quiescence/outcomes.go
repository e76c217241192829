package quiescence

import (
	"slices"

	"sluice/internal/limits"
)

// mostOutcomes bounds what a run carries of its `then` entries, however many
// generations there were; more than one generation has.
const mostOutcomes = 2 * mostThen

// cancelledByStop is how an entry ended that a `stop` came before.
const cancelledByStop = "cancelled: the watch was stopped before this was known to be delivered"

// outcomes tells how the entries of all generations went, oldest first.
type outcomes struct {
	entries  []*ThenResult
	omitted  int // that ended and are no longer told one by one
	underWay int
}

// outcomesOf goes on from what a run carries.
func outcomesOf(r *Result) (o outcomes) {
	if r == nil {
		return o
	}
	o.omitted = r.ThenOmitted
	for _, then := range r.Then {
		o.entries = append(o.entries, &then)
	}
	return o
}

// begin adds an entry that is to be delivered.
func (o *outcomes) begin(then ThenResult) *ThenResult {
	o.entries = append(o.entries, &then)
	o.underWay++
	return &then
}

// end takes in how an entry went; the first word on it counts.
func (o *outcomes) end(then *ThenResult, failure string) {
	if then.Done {
		return
	}
	then.Done, then.OK, then.Error = true, failure == "", limits.Clip(failure, limits.Words)
	o.underWay--
	o.trim()
}

// cancel ends all that is under way, and says how many that were.
func (o *outcomes) cancel() (cancelled int) {
	for _, then := range slices.Clone(o.entries) {
		if !then.Done {
			cancelled++
			o.end(then, cancelledByStop)
		}
	}
	return cancelled
}

// trim makes room: by the oldest that went well, and where there is none by the
// oldest that did not.
func (o *outcomes) trim() {
	for len(o.entries) > mostOutcomes {
		at := slices.IndexFunc(o.entries, func(then *ThenResult) bool { return then.Done && then.OK })
		if at < 0 {
			at = slices.IndexFunc(o.entries, func(then *ThenResult) bool { return then.Done })
		}
		if at < 0 {
			return
		}
		o.entries = slices.Delete(o.entries, at, at+1)
		o.omitted++
	}
}

// in fills in a result; entries follow that are yet to begin.
func (o *outcomes) in(r Result, planned []ThenResult) *Result {
	r.Then, r.ThenOmitted = []ThenResult{}, o.omitted // a list, if an empty one
	for _, then := range o.entries {
		r.Then = append(r.Then, *then)
	}
	r.Then = append(r.Then, planned...)
	return &r
}
