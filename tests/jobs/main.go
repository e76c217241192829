// Command jobs is a worker for tests: it runs the test jobs, and nothing of the
// product. TEMPORAL_* name the server, SLUICE_TASK_QUEUE the queue, TEST_JOBS_LOG
// the file to which dispatches are appended.
package main

import (
	"log"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice"
	"sluice/activities"
	"sluice/tests/jobs/testjobs"
)

func main() {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		log.Fatal(err)
	}
	options.ContextPropagators = []workflow.ContextPropagator{activities.ContextPropagator(converter.GetDefaultDataConverter())}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, sluice.AnyWorkflowID())
	c, err := client.Dial(options)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	throttle := 200 * time.Millisecond
	if text := os.Getenv("TEST_JOBS_HEARTBEAT"); text != "" {
		if throttle, err = time.ParseDuration(text); err != nil {
			log.Fatal(err)
		}
	}
	w := worker.New(c, os.Getenv("SLUICE_TASK_QUEUE"), worker.Options{
		WorkerStopTimeout:            10 * time.Second,
		MaxHeartbeatThrottleInterval: throttle,
	})
	jobs := &testjobs.Jobs{Log: os.Getenv("TEST_JOBS_LOG")}
	jobs.Register(w)
	if err := w.Run(worker.InterruptCh()); err != nil {
		log.Fatal(err)
	}
}
