package main

import (
	"cmp"
	"encoding/json"
	"strings"

	"go.temporal.io/sdk/client"

	"sluice/internal/wire"
	"sluice/workflows"
	"sluice/workflows/countobjects"
)

// countCmd is the group of the monitors that count objects.
type countCmd struct {
	Run    countRunCmd    `cmd:"" help:"Count the objects that a queue's S3 notifications announce."`
	Stop   countStopCmd   `cmd:"" help:"End a monitor after the batch under way."`
	Drain  countDrainCmd  `cmd:"" help:"Let a monitor count what is there, then end it."`
	Status countStatusCmd `cmd:"" help:"Show a monitor, with what it counted since its last report."`
}

type countRunCmd struct {
	fileFlag
	waitFlag
	ID          string `help:"Workflow ID." placeholder:"count/QUEUE"`
	QueueURL    string `help:"SQS queue of the notifications." name:"queue-url" placeholder:"URL"`
	Table       string `help:"DynamoDB table of the counters; string hash key id."`
	Key         string `help:"bucket or prefix: a counter for each."`
	PrefixDepth int    `help:"Elements of an object's key that make its prefix."`
}

func (r countRunCmd) Run(a *app) error {
	input, err := a.document(r.fileFlag, field{"queueUrl", r.QueueURL}, field{"table", r.Table},
		field{"key", r.Key}, field{"prefixDepth", r.PrefixDepth})
	if err != nil {
		return err
	}
	var in struct {
		QueueURL string `json:"queueUrl"`
	}
	if err := json.Unmarshal(input, &in); err != nil || in.QueueURL == "" {
		return usage("queueUrl: required; give it with --queue-url or in the document")
	}
	id := cmp.Or(r.ID, workflows.CountID(in.QueueURL))
	return a.startAndWait(launch{
		workflowType: workflows.TypeCountObjects, id: id, input: input, target: wire.QueueName(in.QueueURL),
		options: client.StartWorkflowOptions{StaticSummary: "Counts what " + in.QueueURL + " announces"},
	}, r.Wait, countProgress)
}

// countID names a monitor.
type countID struct {
	ID string `arg:"" help:"Workflow ID, or the queue: its URL or its name."`
}

// id takes a bare name for the queue's, unless a workflow has it as its ID.
func (c countID) id(a *app) string {
	switch {
	case strings.Contains(c.ID, "://"):
		return workflows.CountID(c.ID)
	case strings.Contains(c.ID, "/"):
		return c.ID
	}
	if a.cli.DryRun {
		return workflows.CountID(c.ID)
	}
	if temporal, err := a.temporal(); err == nil { // else the command itself says why not
		if _, err := temporal.DescribeWorkflow(a.ctx, c.ID, ""); err == nil {
			return c.ID
		}
	}
	return workflows.CountID(c.ID)
}

type countStopCmd struct{ countID }

func (s countStopCmd) Run(a *app) error {
	return a.printUpdate(s.id(a), workflows.UpdateStop, json.RawMessage("{}"))
}

type countDrainCmd struct {
	countID
	WaitFor string `help:"How long to wait for the end, up to 1m." name:"wait" placeholder:"DURATION"`
}

func (d countDrainCmd) Run(a *app) error {
	input, err := overlay(json.RawMessage("{}"), []field{{"wait", d.WaitFor}})
	if err != nil {
		return err
	}
	return a.printUpdate(d.id(a), workflows.UpdateDrain, input)
}

type countStatusCmd struct {
	countID
	tableFlag
}

func (s countStatusCmd) Run(a *app) error {
	seen, err := a.seeStatus(s.id(a))
	if err != nil {
		return err
	}
	status, err := liveCount(seen)
	if err != nil {
		return err
	}
	return a.showStatus(s.tableFlag, seen, status)
}

// liveCount puts what the counting activity last heartbeat over a status.
func liveCount(seen sight) (countobjects.Status, error) {
	var status countobjects.Status
	if err := json.Unmarshal(seen.status, &status); err != nil {
		return status, err
	}
	var figures wire.CountFigures
	if seen.heartbeat(wire.CountEvents.Name, &figures) && figures.Messages >= status.Messages {
		status.Figures(figures)
	}
	return status, nil
}

func countProgress(seen sight) (int64, int64, string) {
	status, err := liveCount(seen)
	if err != nil {
		return 0, 0, "starting"
	}
	return status.Events, 0, "events"
}
