package request

import (
	"encoding/json"
	"fmt"
	"regexp"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/jobchain"
	"sluice/internal/wire"
)

// rollOverDue reports that the history has grown enough for another run, or that
// nothing runs and a job is to be repeated whose activity ID this run can't take.
func (r *request) rollOverDue(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || historyFull(info) || len(r.tries) == 0 && r.ids.missed(r.chain)
}

// mayRollOver reports that another run is due and nothing would be lost: no
// activity is pending, no handler unfinished, no signal untaken. Children run on.
func (r *request) mayRollOver(ctx workflow.Context) bool {
	if !r.rollOverDue(ctx) || r.gate.Ended() || r.canceled() || r.inbox.Pending() || !workflow.AllHandlersFinished(ctx) {
		return false
	}
	for _, t := range r.tries {
		c := t.child
		if c == nil || t.ended() || !c.running() || c.checking != nil || c.looking != nil || (c.telling != nil && !c.telling.IsReady()) {
			return false
		}
	}
	return true
}

// rollOver ends this run and starts the next with all that is known.
func (r *request) rollOver(ctx workflow.Context) error {
	run := jobchain.Run{Created: r.created, Gate: r.gate}
	for _, t := range r.tries {
		run.Children = append(run.Children, jobchain.CarriedChild{Job: t.job, Number: t.number,
			StartedAt: t.child.startedAt, Told: int(t.child.told), TimedOut: t.child.timedOut, Begun: t.child.begun, Stopping: 1 + t.child.stopping})
	}
	continued, err := r.chain.HandOver(run)
	if err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, wire.TypeRequest, continued)
}

// takeOver goes on with what the run before carried.
func (r *request) takeOver(raw json.RawMessage) error {
	var carried jobchain.Run
	if err := json.Unmarshal(raw, &carried); err != nil {
		return fmt.Errorf("%s: carried state: %w", wire.TypeRequest, err)
	}
	r.created, r.gate = carried.Created, carried.Gate
	r.acted = r.gate.Changes
	r.chain = jobchain.Restore(&r.doc, r.self(), carried.Chain)
	for _, c := range carried.Children {
		if c.Job >= 0 && c.Job < len(r.doc.Jobs) {
			id := wire.ChildID(r.id, r.doc.Jobs[c.Job].ID, fmt.Sprint(c.Number))
			r.tries = append(r.tries, r.adopt(id, c))
		}
	}
	return nil
}

var taskRunID = regexp.MustCompile(`^task/[^/]+/([^/]+)/run$`)

// runOfTask is the run of the task whose request has this workflow ID.
func runOfTask(id string) (run string, ok bool) {
	match := taskRunID.FindStringSubmatch(id)
	if match == nil {
		return "", false
	}
	return match[1], true
}
