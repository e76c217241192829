package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"sluice"
	"sluice/workflows"
)

// history runs a request of PutRecords jobs on a Temporal server and counts its
// events. Each job carries what a payload holds with room to spare.
func history(ctx context.Context, r *report) error {
	const jobs, each = 2, 2500
	url, stop, err := startEndpoint(ctx, manyShards, 0, false)
	if err != nil {
		return err
	}
	defer stop()
	logger := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	args := []string{}
	for _, name := range workflows.AttributeNames() {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	server, err := testsuite.StartDevServer(ctx, testsuite.DevServerOptions{ExistingPath: os.Getenv("TEMPORAL_CLI"),
		ClientOptions: &client.Options{Logger: logger}, ExtraArgs: args, Stdout: io.Discard, Stderr: io.Discard, LogLevel: "error"})
	if err != nil {
		return fmt.Errorf("temporal server: %w", err)
	}
	defer func() { _ = server.Stop() }()
	temporal := server.Client()
	w := worker.New(temporal, "bench", worker.Options{Plugins: []worker.Plugin{sluice.Plugin(nil)}})
	k := newProducer(url, unlimited)
	k.Marks = temporal
	sluice.RegisterActivities(w, k)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	run, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "bench", TaskQueue: "bench"}, workflows.TypeRequest, putJobs(jobs, each))
	if err != nil {
		return err
	}
	if err := run.Get(ctx, nil); err != nil {
		return err
	}
	events := 0
	for h := temporal.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); h.HasNext(); events++ {
		if _, err := h.Next(); err != nil {
			return err
		}
	}
	r.EventsPer1000 = round(float64(events) * 1000 / (jobs * each))
	fmt.Printf("%d records through %d PutRecords jobs of a request: %d history events, %.2f per 1,000 records\n", jobs*each, jobs, events, r.EventsPer1000)
	return nil
}

// putJobs is a request of so many PutRecords jobs.
func putJobs(jobs, each int) json.RawMessage {
	type object = map[string]any
	var list []object
	for j := range jobs {
		records := make([]object, each)
		for i := range records {
			records[i] = object{"Data": base64.StdEncoding.EncodeToString(text(i, recordSize)), "PartitionKey": fmt.Sprint("key-", i)}
		}
		list = append(list, object{"id": fmt.Sprint("put-", j), "activity": "Kinesis.PutRecords", "heartbeat": "15s",
			"input": object{"StreamName": streamName, "Records": records}})
	}
	raw, _ := json.Marshal(object{"jobs": list}) // maps and lists of strings have a JSON form
	return raw
}
