package quiescence

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// continued is the input of a run that goes on from another.
type continued struct {
	Input
	Carried *carried `json:"carried,omitempty"`
}

// carried is what a run hands to the next one: a few kilobytes.
type carried struct {
	StartBy   time.Time        `json:"startBy,omitzero"`
	LateUntil time.Time        `json:"lateUntil,omitzero"`
	State     quiescence.State `json:"state"`
	Result    *Result          `json:"result,omitempty"`
	Total     int64            `json:"total,omitempty"` // of the signal source
}

func (o *observer) continueAsNew(ctx workflow.Context) error {
	return workflow.NewContinueAsNewError(ctx, wire.TypeQuiescence, continued{o.in, &carried{
		StartBy:   o.rule.StartBy,
		LateUntil: o.lateUntil,
		State:     o.state,
		Result:    o.outcome(),
		Total:     o.total,
	}})
}

// mayContinueAsNew: the history is long and nothing is pending. Reports come a few
// times a day, so this is looked at long before the history's limit.
func (o *observer) mayContinueAsNew(ctx workflow.Context) bool {
	return !o.over && o.then.underWay == 0 && o.ending.reason == "" && !o.hears() &&
		workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx)
}
