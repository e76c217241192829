package activities

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sluice/internal/document"
)

// SQSSend is the activity that sends a message.
const SQSSend = "SQS.Send"

// mostMessage is SQS's limit for a message, in bytes.
const mostMessage = 1 << 20

// MessageSender is the one method that SQS.Send needs.
type MessageSender interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// SQS is the activities on SQS queues.
type SQS struct{ Client MessageSender }

func (s *SQS) activities() []named { return []named{{SQSSend, s.Send}} }

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
func (s *SQS) Send(ctx context.Context, raw json.RawMessage) (SendOutput, error) {
	var in SendInput
	if err := document.Decode(raw, &in).Err(); err != nil {
		return SendOutput{}, Invalid(SQSSend, err)
	}
	body, _ := httpBody(in.Body)
	if len(body) > mostMessage {
		return SendOutput{}, Fail(TypeTooLarge, Failure{
			ErrorDetails: ErrorDetails{Operation: SQSSend, Target: queueName(in.QueueURL)},
			Message:      "the body has " + strconv.FormatInt(int64(len(body)), 10) + " bytes, at most " + strconv.FormatInt(mostMessage, 10),
		})
	}
	alive, stop := KeepAlive(ctx, WorkingHeartbeat, nil)
	defer stop()
	answer, err := s.Client.SendMessage(alive, &sqs.SendMessageInput{QueueUrl: &in.QueueURL, MessageBody: aws.String(string(body))})
	if err != nil {
		return SendOutput{}, orInterrupted(alive, SQSSend, awsFailure(SQSSend, queueName(in.QueueURL), err))
	}
	return SendOutput{MessageID: aws.ToString(answer.MessageId)}, nil
}
