package workflows_test

import (
	"log"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/workflows"
)

// landed is a workflow of one's own that lists objects and tells a queue how many there
// are, by activities that Sluice's workers run on their task queue.
func landed(ctx workflow.Context, bucket, queueURL string) error {
	options := activities.CallOptions()
	options.TaskQueue = "sluice" // Sluice's workers'
	ctx = workflow.WithActivityOptions(ctx, options)
	listed, err := workflows.ListObjects.Execute(ctx, workflows.ListObjectsInput{Bucket: bucket, Prefix: "in/"}).Output(ctx)
	if err != nil {
		return err // an ApplicationError with one of activities.Type…
	}
	body := workflow.GetInfo(ctx).WorkflowExecution.ID
	if len(listed.Objects) == 0 {
		body += " found nothing"
	}
	_, err = workflows.SendSQS.Execute(ctx, workflows.SendSQSInput{QueueURL: queueURL, Body: body}).Output(ctx)
	return err
}

// A worker of one's own runs only its own workflow; it needs no client of a cloud.
func Example() {
	c, err := client.Dial(envconfig.MustLoadDefaultClientOptions()) // TEMPORAL_…
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	w := worker.New(c, "mine", worker.Options{})
	w.RegisterWorkflow(landed)
	if err := w.Run(worker.InterruptCh()); err != nil {
		log.Fatal(err)
	}
}
