package harness

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/worker"

	"sluice"
)

// StartWorkflowsOnly starts a worker in this process, on the test's task queue,
// that runs workflows and begins no activity. It ends with the test.
func (s *Stack) StartWorkflowsOnly() {
	s.t.Helper()
	w := worker.New(s.Client, s.TaskQueue, worker.Options{
		LocalActivityWorkerOnly: true, Plugins: []worker.Plugin{sluice.Plugin(nil)},
	})
	if err := w.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(w.Stop)
}

// AwaitUnbegun waits until a workflow has an activity that no worker has begun.
func (s *Stack) AwaitUnbegun(workflowID string) {
	s.t.Helper()
	Await(s.t, workflowID+" waits for a worker", func(ctx context.Context) error {
		described, err := s.Client.DescribeWorkflow(ctx, workflowID, "")
		if err != nil {
			return err
		}
		for _, a := range described.RawResponse.GetPendingActivities() {
			if a.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
				return nil
			}
		}
		return errors.New("no activity is scheduled")
	})
}
