package azurequeue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"go.temporal.io/sdk/activity"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// Activities is the activities on Azure Storage queues that jobs can use.
type Activities struct {
	Service *azqueue.ServiceClient // nil: no credentials
}

// All lists the activities under their names.
func (a *Activities) All() []activities.Named {
	return []activities.Named{{Name: wire.AzureQueueSend, Code: a.Send}}
}

// SendInput is the input of AzureQueue.Send.
type SendInput struct {
	Queue string            `json:"queue" doc:"required"`
	Body  json.RawMessage   `json:"body" doc:"required"` // a string is sent as its text, anything else as its JSON
	Delay duration.Duration `json:"delay"`               // until it becomes visible; at most 7 days
}

// maxVisibility is Azure's limit for how long a message may be invisible.
const maxVisibility = 7 * 24 * time.Hour

// Check reports what is wrong with the values.
func (in *SendInput) Check(faults *document.Faults) {
	if err := taskmessage.CheckQueueName(in.Queue); err != nil && !faults.Has("queue") {
		faults.Add("queue", "%v", err)
	}
	if in.Delay.Std() > maxVisibility {
		faults.Add("delay", "%s is longer than Azure's limit of 7 days", in.Delay)
	}
}

// SendOutput is the output of AzureQueue.Send.
type SendOutput struct {
	MessageID string `json:"messageId"`
}

// Send puts one message on a queue, in base64, as Azure's clients expect it. A
// body over 48 KiB is TooLarge before anything is sent; a queue that does not
// exist is NotFound. A repeat whose first answer was lost sends a second
// message: readers tell by what it says, as a claimer does by its task and run.
func (a *Activities) Send(ctx context.Context, raw json.RawMessage) (SendOutput, error) {
	var in SendInput
	faults := document.Decode(raw, &in)
	in.Check(&faults)
	if err := faults.Err(); err != nil {
		return SendOutput{}, activities.Invalid(wire.AzureQueueSend, err)
	}
	text, err := taskmessage.Encode(bodyBytes(in.Body))
	if err != nil {
		return SendOutput{}, activities.Fail(activities.TypeTooLarge, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: wire.AzureQueueSend, Target: in.Queue}, Message: err.Error()})
	}
	if a.Service == nil {
		return SendOutput{}, activities.Fail(activities.TypeAccessDenied, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: wire.AzureQueueSend, Target: in.Queue}, Message: NoCredentials(activity.GetInfo(ctx).TaskQueue)})
	}
	ctx, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer stop()
	id, err := NewQueue(a.Service, in.Queue).Send(ctx, text, in.Delay.Std())
	if err != nil {
		if interrupted := activities.Interrupted(ctx, wire.AzureQueueSend, nil); interrupted != nil {
			return SendOutput{}, interrupted
		}
		return SendOutput{}, Failure(wire.AzureQueueSend, in.Queue, err)
	}
	return SendOutput{MessageID: id}, nil
}

// NoCredentials says where an activity has to run that was scheduled on this task
// queue and came to a worker without access to Azure queues.
func NoCredentials(taskQueue string) string {
	return "this worker has no access to Azure queues: give the job the task queue " + wire.AzureTaskQueue(taskQueue) +
		", which workers with AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_QUEUE_URL poll"
}

// bodyBytes is what a body is on the queue: a JSON string stands for its text.
func bodyBytes(body json.RawMessage) []byte {
	var s string
	if json.Unmarshal(body, &s) == nil && len(body) > 0 && body[0] == '"' {
		return []byte(s)
	}
	return body
}
