package quiescence

import (
	"context"
	"strconv"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sluice/activities/awscall"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

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

func (p *queuePoll) poll(ctx context.Context) (quiescence.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	began := time.Now()
	answer, err := p.meter.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &p.url, AttributeNames: backlog()}, awscall.InRegionOf(p.url))
	if err != nil {
		return quiescence.Reading{}, awscall.Failure("SQS.GetQueueAttributes", wire.QueueName(p.url), err)
	}
	took := time.Since(began)
	var count int64
	for _, name := range backlog() {
		text, ok := answer.Attributes[string(name)]
		if !ok {
			continue // an emulator that knows no delayed messages
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return quiescence.Reading{}, awscall.Failure("SQS.GetQueueAttributes", wire.QueueName(p.url), err)
		}
		count += n
	}
	return quiescence.Reading{Version: strconv.FormatInt(count, 10), Count: count, Present: count > 0, Gauge: true, Slowest: took}, nil
}
