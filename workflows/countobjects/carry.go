package countobjects

import (
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// continued is the input of a run that goes on from another.
type continued struct {
	Input
	Carried *carried `json:"carried,omitempty"`
}

type carried struct {
	Figures wire.CountFigures `json:"figures"`
	State   string            `json:"state"`
	Holders []string          `json:"holders,omitempty"`
}

func (m *monitor) continueAsNew(ctx workflow.Context) error {
	return workflow.NewContinueAsNewError(ctx, wire.TypeCountObjects, continued{m.in, &carried{Figures: m.figures, State: m.state, Holders: m.holders}})
}
