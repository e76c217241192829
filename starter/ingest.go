package main

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/client"

	"sluice/internal/wire"
	"sluice/workflows"
	"sluice/workflows/ingest"
)

// ingestCmd is the group of the main job.
type ingestCmd struct {
	Run    ingestRunCmd    `cmd:"" help:"Take in the objects under a prefix."`
	Status ingestStatusCmd `cmd:"" help:"Show how far an ingestion is."`
}

type ingestRunCmd struct {
	fileFlag
	waitFlag
	ID                    string `help:"Workflow ID." placeholder:"ingest/RANDOM"`
	Bucket                string `help:"Bucket of the objects to take in."`
	Prefix                string `help:"Prefix of the objects to take in."`
	Queue                 string `help:"Azure queue of the tasks."`
	Stream                string `help:"Kinesis stream of the records."`
	Table                 string `help:"DynamoDB table for progress and counters."`
	DeliveryBucket        string `help:"Bucket where the stream is delivered to."`
	DeliveryPrefix        string `help:"Prefix of what is delivered."`
	DeliveryNotifications string `help:"URL of the SQS queue that announces what is delivered." placeholder:"URL"`
	Format                string `help:"lines, json-array or csv."`
	Capacity              int    `help:"Tasks running at once."`
	Deadline              string `help:"Length or instant after which missing records are not waited for."`
}

func (r ingestRunCmd) Run(a *app) error {
	delivery := map[string]string{}
	for name, value := range map[string]string{"bucket": r.DeliveryBucket, "prefix": r.DeliveryPrefix, "notifications": r.DeliveryNotifications} {
		if value != "" {
			delivery[name] = value
		}
	}
	input, err := a.document(r.fileFlag,
		field{"bucket", r.Bucket}, field{"prefix", r.Prefix}, field{"queue", r.Queue}, field{"stream", r.Stream}, field{"table", r.Table},
		field{"delivery", delivery}, field{"format", r.Format}, field{"capacity", r.Capacity}, field{"deadline", r.Deadline})
	if err != nil {
		return err
	}
	id := r.ID
	if id == "" {
		id = randomID("ingest/")
	}
	run, err := a.start(launch{
		workflowType: workflows.TypeIngest, id: id, input: input, target: ingestSource(input).Bucket,
		options: client.StartWorkflowOptions{StaticSummary: "Ingests s3://" + ingestSource(input).Bucket + "/" + ingestSource(input).Prefix},
	})
	if err != nil {
		return err
	}
	if !r.Wait {
		return a.started(run)
	}
	raw, err := a.follow(run, ingestProgress)
	if err != nil {
		return err
	}
	var result ingest.Result
	if err := json.Unmarshal(raw, &result); err != nil {
		return err
	}
	if err := a.result(raw); err != nil {
		return err
	}
	if result.Missing > 0 {
		return failed("%d of %d records are missing; see s3://%s/%s", result.Missing, result.Records, result.Report.Bucket, result.Report.Key)
	}
	return nil
}

// ingestSource is what the document takes in; its faults are told by who checks it.
func ingestSource(input json.RawMessage) (in struct{ Bucket, Prefix string }) {
	_ = json.Unmarshal(input, &in)
	return in
}

type ingestStatusCmd struct {
	tableFlag
	ID string `arg:"" help:"Workflow ID."`
}

func (s ingestStatusCmd) Run(a *app) error {
	seen, err := a.seeStatus(s.ID)
	if err != nil {
		return err
	}
	status, err := liveIngest(seen)
	if err != nil {
		return err
	}
	err = a.showStatus(s.tableFlag, seen, status)
	if err == nil && status.Result != nil && status.Result.Missing > 0 {
		return exit{exitFailed, ""}
	}
	return err
}

// liveIngest is the status with the tasks that have ended: while they stream, the
// figure is in the heartbeat of the activity that waits for them.
func liveIngest(seen sight) (status ingest.Status, err error) {
	if err := json.Unmarshal(seen.status, &status); err != nil {
		return status, err
	}
	var tasks wire.IngestTasks
	if status.Phase == ingest.Streaming && seen.heartbeat(wire.IngestAwaitTasks.Name, &tasks) {
		status.Tasks = tasks.Ended
	}
	return status, nil
}

// ingestProgress tells the tasks that have ended.
func ingestProgress(seen sight) (int64, int64, string) {
	status, err := liveIngest(seen)
	if err != nil {
		return 0, 0, "starting"
	}
	return status.Tasks, status.Objects, fmt.Sprintf("%-8s objects", status.Phase)
}
