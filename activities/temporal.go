package activities

import (
	"context"
	"encoding/json"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// TemporalTell is the activity that sends an update to a workflow, which
// workflows can't do themselves.
const TemporalTell = "Temporal.Tell"

// Temporal is the activities that talk to other workflows.
type Temporal struct {
	Client client.Client
}

func (t *Temporal) activities() []named { return []named{{TemporalTell, t.Tell}} }

// TellInput is an update to send.
type TellInput struct {
	WorkflowID string          `json:"workflowId"`
	Update     string          `json:"update"`
	Input      json.RawMessage `json:"input"`
}

// Tell sends an update and waits for its acceptance, no longer: what is told may
// take its time. A workflow that has ended, or never was, has nothing left to be
// told and counts as success. A repeat tells again; the updates that are told
// this way (stop, drain) change nothing the second time.
func (t *Temporal) Tell(ctx context.Context, in TellInput) error {
	_, err := t.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: in.WorkflowID, UpdateName: in.Update, Args: []any{in.Input},
		WaitForStage: client.WorkflowUpdateStageAccepted,
	})
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return nil
	}
	return err
}
