package requests

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// pollerFresh is how recently a worker has to have polled to count. A poll takes
// up to a minute, and the server lists pollers for five minutes after they died.
const pollerFresh = 70 * time.Second

// Polled reports whether a worker polls the task queue, for workflows or for
// activities.
func Polled(ctx context.Context, c client.Client, queue string) (bool, error) {
	for _, kind := range []enumspb.TaskQueueType{enumspb.TASK_QUEUE_TYPE_ACTIVITY, enumspb.TASK_QUEUE_TYPE_WORKFLOW} {
		described, err := c.DescribeTaskQueue(ctx, queue, kind)
		if err != nil {
			return false, err
		}
		for _, p := range described.GetPollers() {
			if time.Since(p.GetLastAccessTime().AsTime()) < pollerFresh {
				return true, nil
			}
		}
	}
	return false, nil
}
