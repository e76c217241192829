package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Search attributes, all of type Keyword, which `starter setup` registers.
var (
	AttributeState  = temporal.NewSearchAttributeKeyKeyword("SluiceState")  // the workflow's state or phase
	AttributeType   = temporal.NewSearchAttributeKeyKeyword("SluiceType")   // a request's type, else the workflow type
	AttributeTarget = temporal.NewSearchAttributeKeyKeyword("SluiceTarget") // table, stream, bucket or queue
)

// Values of AttributeState for workflows without states of their own.
const (
	StateOpen   = "OPEN"
	StatePaused = "PAUSED"
	StateDone   = "DONE"
)

// attributes keeps a run's search attributes and upserts only what changes,
// since each upsert is an event.
type attributes struct {
	state, kind, target string
}

// set upserts those of the attributes that differ from what was set before; ""
// leaves one as it is.
func (a *attributes) set(ctx workflow.Context, state, kind, target string) error {
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

// AttributeNames lists the search attributes that have to be registered.
func AttributeNames() []string {
	return []string{AttributeState.GetName(), AttributeType.GetName(), AttributeTarget.GetName()}
}
