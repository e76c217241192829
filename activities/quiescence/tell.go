package quiescence

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/wire"
)

// Teller is the activities that talk to other workflows.
type Teller struct {
	Client client.Client
}

// All lists the activities under their names.
func (t *Teller) All() []activities.Named {
	return []activities.Named{activities.Do(wire.TemporalTell, t.Tell)}
}

// Tell sends an update and waits for its acceptance, no longer: what is told may
// take its time. A workflow that has ended, or never was, has nothing left to be
// told and counts as success. A repeat tells again; the updates that are told
// this way (stop, drain) change nothing the second time.
func (t *Teller) Tell(ctx context.Context, in wire.TellInput) error {
	_, err := t.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: in.WorkflowID, FirstExecutionRunID: in.FirstRunID, UpdateName: in.Update, Args: []any{in.Input},
		WaitForStage: client.WorkflowUpdateStageAccepted,
	})
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return nil
	}
	return err
}
