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

// Attributes keeps a run's search attributes and upserts only what changes,
// since each upsert is an event.
type Attributes struct {
	State, Kind, Target string
}

// Set upserts those of the attributes that differ from what was set before; ""
// leaves one as it is.
func (a *Attributes) Set(ctx workflow.Context, state, kind, target string) error {
	var updates []temporal.SearchAttributeUpdate
	for _, u := range []struct {
		have *string
		want string
		key  temporal.SearchAttributeKeyKeyword
	}{{&a.State, state, AttributeState}, {&a.Kind, kind, AttributeType}, {&a.Target, target, AttributeTarget}} {
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
