package request

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

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
		untaken:  map[int]int{},
		link:     newParentLink(info),
		shown:    shell.Given(ctx),
	}
	in := jobchain.Continued{Document: jobchain.NewDocument()}
	if err := shell.DecodeInput(ctx, wire.TypeRequest, raw, &in.Document, &in); err != nil {
		return nil, err
	}
	r.doc = in.Document
	r.target = r.doc.Target()
	shell.Hear(r.ctx, r.publish)
	if len(in.Carried) > 0 {
		return r, r.takeOver(in.Carried)
	}
	r.gate.DeadlineAt = r.doc.Deadline.Time(r.created)
	r.chain = jobchain.NewChain(&r.doc, r.self())
	return r, nil
}

// CheckInput tells what is wrong with the document of a new request of that ID,
// as the request would.
func CheckInput(id string, raw json.RawMessage) error {
	doc := jobchain.NewDocument()
	return shell.CheckInput(wire.TypeRequest, id, raw, &doc)
}
