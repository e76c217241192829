package kinesis

import (
	"bytes"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"sluice/activities/awscall"
	"sluice/activities/s3"
)

// DeadLetterWriter writes failed records where their caller wants them kept.
type DeadLetterWriter interface {
	// WriteObject writes a whole object.
	WriteObject(ctx context.Context, bucket, key string, body []byte) error
	// SendMessage sends one message to a queue.
	SendMessage(ctx context.Context, queueURL, body string) error
}

// DeadLetters writes failed records to S3 and SQS.
type DeadLetters struct {
	S3  s3.API
	SQS interface {
		SendMessage(context.Context, *awssqs.SendMessageInput, ...func(*awssqs.Options)) (*awssqs.SendMessageOutput, error)
	}
}

// WriteObject implements DeadLetterWriter.
func (d *DeadLetters) WriteObject(ctx context.Context, bucket, key string, body []byte) error {
	_, err := d.S3.PutObject(ctx, &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(body),
		ContentType: aws.String("application/x-ndjson")})
	return awscall.Failure("S3.PutObject", bucket+"/"+key, err)
}

// SendMessage implements DeadLetterWriter.
func (d *DeadLetters) SendMessage(ctx context.Context, queueURL, body string) error {
	_, err := d.SQS.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &queueURL, MessageBody: &body})
	return awscall.Failure("SQS.SendMessage", queueURL, err)
}
