package ingest

import (
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// listen sets up the messages.
func (r *run) listen(ctx workflow.Context) error {
	return new(shell.Inbox).Listen(ctx, shell.OnQuery(wire.QueryStatus, "How far it is, and what is missing.", r.status))
}
