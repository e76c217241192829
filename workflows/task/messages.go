package task

import (
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// listen sets up the messages.
func (t *task) listen(ctx workflow.Context) error {
	return t.inbox.Listen(ctx,
		shell.OnQuery(wire.QueryStatus, "The task, its claim and its work.", func() (Status, error) {
			status := t.status(workflow.Now(ctx))
			status.Trouble = shell.Heard(ctx).OrNil()
			return status, nil
		}),
		shell.OnSignal(wire.SignalStop, t.stop),
	)
}

func (t *task) stop(_ workflow.Context, in wire.StopInput) error {
	t.tell(endStopped, in.Reason)
	return nil
}
