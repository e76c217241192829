package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/activities/azurequeue"
	"sluice/internal/wire"
)

// Activities looks through a worker's own clients.
type Activities struct {
	AWS      aws.Config
	DynamoDB *dynamodb.Client
	Kinesis  *kinesis.Client
	S3       *s3.Client
	SQS      *sqs.Client
	Azure    *azqueue.ServiceClient // nil without access to Azure queues
}

// All are the activities.
func (a *Activities) All() []activities.Named {
	return []activities.Named{activities.On(wire.DoctorLook, a.Look)}
}

const (
	// patience is how long one thing may take to answer.
	patience = 10 * time.Second
	// parallel is how many are asked at once.
	parallel = 8
)

// look is one thing to ask for.
type look struct {
	name, target string
	ask          func(context.Context) (detail string, err error)
}

// Look asks for everything that is named. It never fails: what can't be reached is
// told in the report.
func (a *Activities) Look(ctx context.Context, in wire.DoctorInput) (wire.DoctorReport, error) {
	looks := a.looks(in)
	report := wire.DoctorReport{Worker: worker(), Queue: activity.GetInfo(ctx).TaskQueue, Checks: make([]wire.DoctorCheck, len(looks))}
	var all errgroup.Group
	all.SetLimit(parallel)
	for i, l := range looks {
		all.Go(func() error {
			report.Checks[i] = l.check(ctx)
			return nil
		})
	}
	return report, all.Wait()
}

// worker is the process and its host, as Temporal's default identity has them.
func worker() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%d@%s", os.Getpid(), host)
}

func (l look) check(ctx context.Context) wire.DoctorCheck {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	detail, err := l.ask(ctx)
	c := wire.DoctorCheck{Name: l.name, Target: l.target, OK: err == nil, Detail: detail}
	if err != nil {
		c.Error = words(err)
	}
	return c
}

// words is an error as people read it: our type and message where it has them.
func words(err error) string {
	var application *temporal.ApplicationError
	if errors.As(activities.Typed(err), &application) {
		return application.Type() + ": " + application.Message()
	}
	return activities.Redact(err.Error())
}

func (a *Activities) looks(in wire.DoctorInput) []look {
	looks := []look{{"aws credentials", a.AWS.Region, a.credentials}}
	add := func(name string, targets []string, ask func(context.Context, string) (string, error)) {
		for _, target := range targets {
			looks = append(looks, look{name, target, func(ctx context.Context) (string, error) { return ask(ctx, target) }})
		}
	}
	add("table", in.Tables, a.table)
	add("stream", in.Streams, a.stream)
	add("bucket", in.Buckets, a.bucket)
	add("sqs queue", in.QueueURLs, a.queue)
	add("azure queue", in.AzureQueues, a.azureQueue)
	return looks
}

// credentials tells where the worker's credentials come from, and nothing of them.
func (a *Activities) credentials(ctx context.Context) (string, error) {
	const give = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or give the machine a role"
	switch {
	case a.AWS.Region == "":
		return "", errors.New("no region: set AWS_REGION for the worker")
	case a.AWS.Credentials == nil:
		return "", errors.New("no credentials: " + give)
	}
	got, err := a.AWS.Credentials.Retrieve(ctx)
	if err != nil {
		return "", fmt.Errorf("no credentials: %s (%w)", give, err)
	}
	detail := "region " + a.AWS.Region + ", from " + got.Source
	if got.AccountID != "" {
		detail += ", account " + got.AccountID
	}
	return detail, nil
}

func (a *Activities) table(ctx context.Context, name string) (string, error) {
	out, err := a.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return "", awscall.Failure("DynamoDB.DescribeTable", name, err)
	}
	return string(out.Table.TableStatus), nil
}

func (a *Activities) stream(ctx context.Context, name string) (string, error) {
	out, err := a.Kinesis.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &name})
	if err != nil {
		return "", awscall.Failure("Kinesis.DescribeStreamSummary", name, err)
	}
	return fmt.Sprintf("%s, %d open shards", out.StreamDescriptionSummary.StreamStatus, aws.ToInt32(out.StreamDescriptionSummary.OpenShardCount)), nil
}

// bucket lists one key: unlike a HEAD, a refusal has its reason.
func (a *Activities) bucket(ctx context.Context, name string) (string, error) {
	out, err := a.S3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &name, MaxKeys: aws.Int32(1)})
	if err != nil {
		return "", awscall.Failure(wire.S3List, name, err)
	}
	if len(out.Contents) == 0 {
		return "can be listed; empty", nil
	}
	return "can be listed", nil
}

func (a *Activities) queue(ctx context.Context, url string) (string, error) {
	visible := sqstypes.QueueAttributeNameApproximateNumberOfMessages
	out, err := a.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{visible}}, awscall.InRegionOf(url))
	if err != nil {
		return "", awscall.Failure("SQS.GetQueueAttributes", url, err)
	}
	return "messages: about " + out.Attributes[string(visible)], nil
}

func (a *Activities) azureQueue(ctx context.Context, name string) (string, error) {
	if a.Azure == nil {
		return "", errors.New("this worker has no access to Azure queues: set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_QUEUE_URL")
	}
	got, err := a.Azure.NewQueueClient(name).GetProperties(ctx, nil)
	if err != nil {
		return "", azurequeue.Failure("AzureQueue.GetProperties", name, err)
	}
	return fmt.Sprintf("messages: about %d", aws.ToInt64(got.ApproximateMessagesCount)), nil
}
