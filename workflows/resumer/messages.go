package resumer

import (
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// listen sets up the messages.
func (s *sweep) listen(ctx workflow.Context) error {
	return s.inbox.Listen(ctx,
		shell.OnQuery(wire.QueryStatus, "What has been resumed, and what waits.", func() (*Status, error) {
			return &Status{Trouble: shell.Heard(ctx).OrNil(), AsOf: workflow.Now(ctx).UTC(), State: s.state, Holder: s.holder, Total: s.total,
				Waiting: len(s.waiting), Running: len(s.running), Result: s.result}, nil
		}),
		shell.OnSignal(wire.SignalStop, s.stop),
	)
}

// stop ends the sweep between two requests.
func (s *sweep) stop(workflow.Context, wire.StopInput) error {
	s.stopped = true
	return nil
}
