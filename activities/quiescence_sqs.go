package activities

import (
	"context"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sluice/internal/document"
	"sluice/internal/quiescence"
)

// SQSSource is a queue's backlog: what is visible, in flight and delayed. It is
// quiet at 0.
type SQSSource struct {
	QueueURL string `json:"queueUrl" doc:"required"`
}

func (s *SQSSource) check(faults *document.Faults, path string) {
	if s.QueueURL == "" && !faults.Has(path+".queueUrl") {
		faults.Add(path+".queueUrl", "empty")
	}
}

func (s *SQSSource) target() string { return queueName(s.QueueURL) }

// queueName is the last element of a queue's URL.
func queueName(url string) string { return url[strings.LastIndex(url, "/")+1:] }

type queuePoll struct {
	meter QueueMeter
	url   string
}

// backlog lists the attributes that together are all messages of a queue.
func backlog() []types.QueueAttributeName {
	return []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	}
}

func (p *queuePoll) poll(ctx context.Context, _ func()) (quiescence.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	answer, err := p.meter.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &p.url, AttributeNames: backlog()})
	if err != nil {
		return quiescence.Reading{}, awsFailure("SQS.GetQueueAttributes", queueName(p.url), err)
	}
	var count int64
	for _, name := range backlog() {
		text, ok := answer.Attributes[string(name)]
		if !ok {
			continue // an emulator that knows no delayed messages
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return quiescence.Reading{}, awsFailure("SQS.GetQueueAttributes", queueName(p.url), err)
		}
		count += n
	}
	return quiescence.Reading{Version: strconv.FormatInt(count, 10), Count: count, Present: count > 0, Gauge: true}, nil
}
