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
		workflowType: workflows.TypeIngest, id: id, input: input,
		options: client.StartWorkflowOptions{StaticSummary: ingestSummary(input)},
	})
	if err != nil {
		return err
	}
	if !r.Wait {
		return a.started(run)
	}
	raw, err := a.follow(run, a.ingestProgress(id))
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

// ingestSummary is the run's line in the Web UI.
func ingestSummary(input json.RawMessage) string {
	var in struct{ Bucket, Prefix string }
	if json.Unmarshal(input, &in) != nil {
		return "" // Ingest itself says what is wrong with the document
	}
	return "Ingests s3://" + in.Bucket + "/" + in.Prefix
}

type ingestStatusCmd struct {
	ID string `arg:"" help:"Workflow ID."`
}

func (s ingestStatusCmd) Run(a *app) error {
	raw, err := a.query(s.ID, workflows.QueryStatus)
	if err != nil {
		return err
	}
	var status ingest.Status
	if err := json.Unmarshal(raw, &status); err != nil {
		return err
	}
	if status.Phase == ingest.Streaming {
		if tasks, ok := a.ingestTasks(s.ID); ok {
			status.Tasks = tasks.Ended
		}
	}
	if err := a.result(status); err != nil {
		return err
	}
	if status.Result != nil && status.Result.Missing > 0 {
		return exit{exitFailed, ""}
	}
	return a.exitByState(s.ID)
}

// ingestProgress tells the tasks that have ended; while they stream, the figure
// is in the heartbeat of the activity that waits for them.
func (a *app) ingestProgress(id string) progressOf {
	return func(raw json.RawMessage) (int64, int64, string) {
		var status ingest.Status
		if json.Unmarshal(raw, &status) != nil {
			return 0, 0, "starting"
		}
		if status.Phase == ingest.Streaming {
			if tasks, ok := a.ingestTasks(id); ok {
				status.Tasks = tasks.Ended
			}
		}
		return status.Tasks, status.Objects, fmt.Sprintf("%-8s objects", status.Phase)
	}
}

func (a *app) ingestTasks(id string) (tasks wire.IngestTasks, ok bool) {
	return tasks, a.heartbeat(id, wire.IngestAwaitTasks.Name, &tasks)
}
