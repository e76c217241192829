package shell

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// Search attributes, all of type Keyword, which `starter setup` registers.
var (
	AttributeState   = temporal.NewSearchAttributeKeyKeyword(wire.AttributeState)   // the workflow's state or phase
	AttributeType    = temporal.NewSearchAttributeKeyKeyword(wire.AttributeType)    // a request's type, else the workflow type
	AttributeTarget  = temporal.NewSearchAttributeKeyKeyword(wire.AttributeTarget)  // table, stream, bucket or queue
	AttributeTrouble = temporal.NewSearchAttributeKeyKeyword(wire.AttributeTrouble) // the error type of what is waited for; "" when all is well
)

// Given are the attributes that the run was started with, or that the run before it
// left.
func Given(ctx workflow.Context) (a Attributes) {
	a.load(ctx)
	return a
}

// Refuse is the end of a run whose input is refused. Attributes that it was started
// with say that it runs, which is put right.
func Refuse(ctx workflow.Context, state string, refused error) error {
	a := Given(ctx)
	if a.state == "" {
		return refused
	}
	if err := a.Show(ctx, Shown{State: state, Ended: true}); err != nil {
		return err
	}
	return refused
}

// Shown is what the search attributes say of a workflow. "" leaves the first three
// as they are.
type Shown struct {
	State, Type, Target string
	Trouble             Trouble // that the workflow itself knows of
	SameTrouble         bool    // it is as it was shown last
	Ended               bool    // nothing is waited for any more
}

// Attributes keeps a run's search attributes and upserts only what changes, since
// each upsert is an event and an Action. What the run was started with, or what the
// run before it left, is there already.
type Attributes struct {
	read                         bool
	state, kind, target, trouble string
	want                         string    // trouble
	told                         time.Time // when trouble was upserted last
	waiting                      bool      // until trouble may be upserted again
}

// troubleEvery is how far apart upserts are that trouble alone is the reason for.
const troubleEvery = time.Minute

// Show upserts what differs from what was shown before. Trouble that comes and goes
// is upserted once a minute at most; it costs nothing while there is none.
func (a *Attributes) Show(ctx workflow.Context, s Shown) error {
	a.load(ctx)
	switch {
	case s.Ended:
		a.want = ""
	case !s.SameTrouble:
		a.want = OrHeard(ctx, s.Trouble).Type
	}
	came := s.State != "" && s.State != a.state
	var updates []temporal.SearchAttributeUpdate
	for _, u := range []struct {
		have *string
		want string
		key  temporal.SearchAttributeKeyKeyword
	}{{&a.state, s.State, AttributeState}, {&a.kind, s.Type, AttributeType}, {&a.target, s.Target, AttributeTarget}} {
		if u.want != "" && u.want != *u.have {
			*u.have = u.want
			updates = append(updates, u.key.ValueSet(u.want))
		}
	}
	// Where something else is upserted anyway, trouble goes along.
	if len(updates) > 0 || a.troubleDue(ctx) {
		updates = a.withTrouble(ctx, updates)
	}
	if len(updates) == 0 {
		return nil
	}
	if came {
		workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"state": s.State}).Counter("sluice_workflow_states").Inc(1)
	}
	return workflow.UpsertTypedSearchAttributes(ctx, updates...)
}

// load reads what there is when the run begins.
func (a *Attributes) load(ctx workflow.Context) {
	if a.read {
		return
	}
	a.read = true
	has := workflow.GetTypedSearchAttributes(ctx)
	a.state, _ = has.GetKeyword(AttributeState)
	a.kind, _ = has.GetKeyword(AttributeType)
	a.target, _ = has.GetKeyword(AttributeTarget)
	if a.trouble, _ = has.GetKeyword(AttributeTrouble); a.trouble != "" {
		a.told = workflow.Now(ctx)
	}
}

// withTrouble adds the trouble where it has changed.
func (a *Attributes) withTrouble(ctx workflow.Context, updates []temporal.SearchAttributeUpdate) []temporal.SearchAttributeUpdate {
	if a.want == a.trouble {
		return updates
	}
	a.trouble, a.told = a.want, workflow.Now(ctx)
	if a.want == "" {
		return append(updates, AttributeTrouble.ValueUnset())
	}
	return append(updates, AttributeTrouble.ValueSet(a.want))
}

// troubleDue reports that the trouble has changed and may be upserted. Where it may
// not yet, it is when the minute is over, if it is still another one then.
func (a *Attributes) troubleDue(ctx workflow.Context) bool {
	if a.want == a.trouble || a.waiting {
		return false
	}
	wait := troubleEvery - workflow.Now(ctx).Sub(a.told)
	if a.told.IsZero() || wait <= 0 {
		return true
	}
	a.waiting = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: "until SluiceTrouble may change"}).Get(ctx, nil)
		a.waiting = false
		if updates := a.withTrouble(ctx, nil); err == nil && len(updates) > 0 {
			_ = workflow.UpsertTypedSearchAttributes(ctx, updates...) // fails only for values that can't be encoded
		}
	})
	return false
}
