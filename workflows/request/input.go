package request

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

func newRequest(ctx workflow.Context, raw json.RawMessage) (*request, error) {
	info := workflow.GetInfo(ctx)
	background, _ := workflow.NewDisconnectedContext(ctx)
	r := &request{
		ctx:      background,
		root:     ctx,
		id:       info.WorkflowExecution.ID,
		firstRun: info.FirstRunID,
		queue:    info.TaskQueueName,
		created:  workflow.Now(ctx),
		gate:     jobchain.Gate{State: jobchain.Running},
		ids:      activityIDs{},
		link:     newParentLink(info),
	}
	in := jobchain.Continued{Document: jobchain.NewDocument()}
	if err := shell.Decode(wire.TypeRequest, raw, shell.InputOf(ctx, &in.Document, &in)); err != nil {
		return nil, err
	}
	r.doc = in.Document
	if len(in.Carried) > 0 {
		return r, r.takeOver(in.Carried)
	}
	if err := checkSize(&r.doc); err != nil {
		return nil, err
	}
	r.gate.DeadlineAt = r.doc.Deadline.Time(r.created)
	r.chain = jobchain.NewChain(&r.doc, r.self())
	return r, nil
}

// checkSize refuses a document that could not be carried from run to run.
func checkSize(doc *jobchain.Document) error {
	bytes := doc.CarriedAtFirst()
	if bytes <= jobchain.MaxCarried {
		return nil
	}
	return activities.Fail(activities.TypeTooLarge, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.TypeRequest},
		Message:      fmt.Sprintf("the document takes %d bytes of what a run carries, more than %d; keep large data elsewhere and hand on where it is", bytes, jobchain.MaxCarried),
	})
}
