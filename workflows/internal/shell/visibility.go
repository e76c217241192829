package shell

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// Search attributes, all of type Keyword, which `starter setup` registers.
var (
	AttributeState  = temporal.NewSearchAttributeKeyKeyword(wire.AttributeState)  // the workflow's state or phase
	AttributeType   = temporal.NewSearchAttributeKeyKeyword(wire.AttributeType)   // a request's type, else the workflow type
	AttributeTarget = temporal.NewSearchAttributeKeyKeyword(wire.AttributeTarget) // table, stream, bucket or queue
)

// Attributes keeps a run's search attributes and upserts only what changes, since
// each upsert is an event and an Action.
type Attributes struct {
	state, kind, target string
}

// Given are the attributes that the run was started with, or that the run before it
// left.
func Given(ctx workflow.Context) (a Attributes) {
	has := workflow.GetTypedSearchAttributes(ctx)
	a.state, _ = has.GetKeyword(AttributeState)
	a.kind, _ = has.GetKeyword(AttributeType)
	a.target, _ = has.GetKeyword(AttributeTarget)
	return a
}

// Refuse is the end of a run whose input is refused. Attributes that it was started
// with say that it runs, which is put right.
func Refuse(ctx workflow.Context, state string, refused error) error {
	a := Given(ctx)
	if a.state == "" {
		return refused
	}
	if err := a.Set(ctx, state, "", ""); err != nil {
		return err
	}
	return refused
}

// Set upserts those of the attributes that differ from what was set before; ""
// leaves one as it is.
func (a *Attributes) Set(ctx workflow.Context, state, kind, target string) error {
	var updates []temporal.SearchAttributeUpdate
	for _, u := range []struct {
		have *string
		want string
		key  temporal.SearchAttributeKeyKeyword
	}{{&a.state, state, AttributeState}, {&a.kind, kind, AttributeType}, {&a.target, target, AttributeTarget}} {
		if u.want != "" && u.want != *u.have {
			*u.have = u.want
			updates = append(updates, u.key.ValueSet(u.want))
		}
	}
	if len(updates) == 0 {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(ctx, updates...)
}
