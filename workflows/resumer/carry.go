package resumer

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
	Holder   string   `json:"holder"`
	Total    int      `json:"total"`
	Waiting  []string `json:"waiting"`
	Result   Result   `json:"result"`
	Bytes    int      `json:"bytes"`
	Progress bool     `json:"progress,omitempty"`
}

func (s *sweep) rollOver(ctx workflow.Context) error {
	return workflow.NewContinueAsNewError(ctx, wire.TypeResumeSuspended, continued{s.in,
		&carried{Holder: s.holder, Total: s.total, Waiting: s.waiting, Result: s.result, Bytes: s.bytes, Progress: s.progress}})
}
