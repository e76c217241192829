package sqs

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/internal/document"
	"sluice/internal/wire"
)

// maxMessage is SQS's limit for a message, in bytes.
const maxMessage = 1 << 20

// MessageSender is the one method that SQS.Send needs.
type MessageSender interface {
	SendMessage(context.Context, *awssqs.SendMessageInput, ...func(*awssqs.Options)) (*awssqs.SendMessageOutput, error)
}

// Activities is the activities on SQS queues.
type Activities struct{ Client MessageSender }

// All lists the activities under their names.
func (s *Activities) All() []activities.Named {
	return []activities.Named{{Name: wire.SQSSend, Code: s.Send}}
}

// SendInput is the input of SQS.Send. A body that is a JSON string is sent as its
// text, any other as JSON.
type SendInput struct {
	QueueURL string          `json:"queueUrl" doc:"required"`
	Body     json.RawMessage `json:"body" doc:"required"`
}

// SendOutput is what SQS.Send answers.
type SendOutput struct {
	MessageID string `json:"messageId"`
}

// Send sends a message. A repeat sends it again: SQS has no way to tell.
func (s *Activities) Send(ctx context.Context, raw json.RawMessage) (SendOutput, error) {
	var in SendInput
	if err := document.Decode(raw, &in).Err(); err != nil {
		return SendOutput{}, activities.Invalid(wire.SQSSend, err)
	}
	body, _ := activities.Body(in.Body)
	if len(body) > maxMessage {
		return SendOutput{}, activities.Fail(activities.TypeTooLarge, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: wire.SQSSend, Target: wire.QueueName(in.QueueURL)},
			Message:      "the body has " + strconv.FormatInt(int64(len(body)), 10) + " bytes, at most " + strconv.FormatInt(maxMessage, 10),
		})
	}
	alive, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer stop()
	answer, err := s.Client.SendMessage(alive, &awssqs.SendMessageInput{QueueUrl: &in.QueueURL, MessageBody: aws.String(string(body))}, awscall.InRegionOf(in.QueueURL))
	if err != nil {
		return SendOutput{}, activities.OrInterrupted(alive, wire.SQSSend, awscall.Failure(wire.SQSSend, wire.QueueName(in.QueueURL), err))
	}
	return SendOutput{MessageID: aws.ToString(answer.MessageId)}, nil
}
