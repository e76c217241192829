package sluice_test

import (
	"context"
	"fmt"
	"log"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"sluice"
	"sluice/workflows"
)

// shout is an activity of one's own.
func shout(_ context.Context, words string) (string, error) { return words + "!", nil }

// A worker of one's own runs everything of Sluice, and one's own activities beside it.
// It is configured as the worker program is, by the environment.
func Example_worker() {
	ctx := context.Background()
	config, err := sluice.LoadConfig()
	if err != nil {
		log.Fatal(err) // all faults at once
	}
	clients, err := sluice.Connect(ctx, config, sluice.Hooks{})
	if err != nil {
		log.Fatal(err)
	}
	defer clients.Temporal.Close()
	w := sluice.NewWorker(config, clients, sluice.Hooks{})
	w.RegisterActivityWithOptions(shout, activity.RegisterOptions{Name: "Shout"})
	if err := w.Run(ctx, worker.InterruptCh()); err != nil {
		log.Fatal(err)
	}
}

// A request is started by its typed document, suspended, resumed, and its typed result
// awaited.
func Example_request() {
	ctx := context.Background()
	config, err := sluice.LoadConfig()
	if err != nil {
		log.Fatal(err)
	}
	clients, err := sluice.Connect(ctx, config, sluice.Hooks{})
	if err != nil {
		log.Fatal(err)
	}
	defer clients.Temporal.Close()
	run, err := sluice.Request.Start(ctx, clients.Temporal, "request/greet", workflows.RequestInput{
		Args: map[string]string{"name": "world"},
		Jobs: []workflows.Job{{ID: "greet", Activity: "Shout", Input: workflows.From("args.name"), Heartbeat: "10s"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := sluice.Suspend.Send(ctx, clients.Temporal, "request/greet", workflows.SuspendMessage{Reason: "deploy"}); err != nil {
		log.Fatal(err)
	}
	if _, err := sluice.Resume.Send(ctx, clients.Temporal, "request/greet", workflows.ResumeMessage{}); err != nil {
		log.Fatal(err)
	}
	result, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.State, string(result.Jobs["greet"]))
}
