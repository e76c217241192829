package activities

import (
	"context"
	"encoding/json"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/taskmessage"
)

// AzureQueue is the activities on Azure Storage queues that jobs can use.
type AzureQueue struct {
	Service *azqueue.ServiceClient // nil: no credentials
}

// AzureQueueSend is the name of AzureQueue.Send.
const AzureQueueSend = "AzureQueue.Send"

func (a *AzureQueue) activities() []named {
	return []named{{AzureQueueSend, a.Send}}
}

// AzureQueueSendInput is the input of AzureQueue.Send.
type AzureQueueSendInput struct {
	Queue string            `json:"queue" doc:"required"`
	Body  json.RawMessage   `json:"body" doc:"required"` // a string is sent as its text, anything else as its JSON
	Delay duration.Duration `json:"delay"`               // until it becomes visible; at most 7 days
}

// maxVisibility is Azure's limit for how long a message may be invisible.
const maxVisibility = 7 * 24 * time.Hour

// Check reports what is wrong with the values.
func (in *AzureQueueSendInput) Check(faults *document.Faults) {
	if err := taskmessage.CheckQueueName(in.Queue); err != nil && !faults.Has("queue") {
		faults.Add("queue", "%v", err)
	}
	if in.Delay.Std() > maxVisibility {
		faults.Add("delay", "%s is longer than Azure's limit of 7 days", in.Delay)
	}
}

// AzureQueueSendOutput is the output of AzureQueue.Send.
type AzureQueueSendOutput struct {
	MessageID string `json:"messageId"`
}

// Send puts one message on a queue, in base64, as Azure's clients expect it. A
// body over 48 KiB is TooLarge before anything is sent; a queue that does not
// exist is NotFound. A repeat whose first answer was lost sends a second
// message: readers tell by what it says, as a claimer does by its task and run.
func (a *AzureQueue) Send(ctx context.Context, raw json.RawMessage) (AzureQueueSendOutput, error) {
	var in AzureQueueSendInput
	faults := document.Decode(raw, &in)
	in.Check(&faults)
	if err := faults.Err(); err != nil {
		return AzureQueueSendOutput{}, Invalid(AzureQueueSend, err)
	}
	text, err := taskmessage.Encode(bodyBytes(in.Body))
	if err != nil {
		return AzureQueueSendOutput{}, Fail(TypeTooLarge, Failure{
			ErrorDetails: ErrorDetails{Operation: AzureQueueSend, Target: in.Queue}, Message: err.Error()})
	}
	if a.Service == nil {
		return AzureQueueSendOutput{}, Fail(TypeAccessDenied, Failure{
			ErrorDetails: ErrorDetails{Operation: AzureQueueSend, Target: in.Queue}, Message: noQueueCredentials})
	}
	ctx, stop := KeepAlive(ctx, WorkingHeartbeat, nil)
	defer stop()
	id, err := newStoreQueue(a.Service, in.Queue).send(ctx, text, in.Delay.Std())
	if err != nil {
		if interrupted := Interrupted(ctx, AzureQueueSend, nil); interrupted != nil {
			return AzureQueueSendOutput{}, interrupted
		}
		return AzureQueueSendOutput{}, AzureFailure(AzureQueueSend, in.Queue, err)
	}
	return AzureQueueSendOutput{MessageID: id}, nil
}

const noQueueCredentials = "this worker has no access to Azure queues: set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_QUEUE_URL"

// bodyBytes is what a body is on the queue: a JSON string stands for its text.
func bodyBytes(body json.RawMessage) []byte {
	var s string
	if json.Unmarshal(body, &s) == nil && len(body) > 0 && body[0] == '"' {
		return []byte(s)
	}
	return body
}
