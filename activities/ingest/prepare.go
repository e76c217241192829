package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.temporal.io/sdk/activity"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/activities/azurequeue"
	"sluice/internal/wire"
)

// prepareAttempts is how often Prepare tries to reach what does not answer
// before it says so: somebody waits for this answer.
const prepareAttempts = 3

// Prepare looks up everything that the plan names, lists the objects and writes
// the manifest, which pins what this run takes in. It starts nothing, so a
// refusal leaves nothing half done; a repeat lists again and overwrites the
// manifest. None at all is NotFound.
func (i *Activities) Prepare(ctx context.Context, p wire.IngestPlan) (wire.IngestPrepared, error) {
	ctx, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer stop()
	prepared, err := i.prepare(ctx, p)
	if interrupted := activities.Interrupted(ctx, wire.IngestPrepare.Name, nil); err != nil && interrupted != nil {
		return prepared, interrupted
	}
	return prepared, lastAttempt(ctx, err)
}

// lastAttempt makes Unavailable final once Prepare has tried often enough. The
// type stays; only the repeating ends.
func lastAttempt(ctx context.Context, err error) error {
	if activities.TypeOf(err) != activities.TypeUnavailable || activity.GetInfo(ctx).Attempt < prepareAttempts {
		return err
	}
	return activities.Final(err)
}

func (i *Activities) prepare(ctx context.Context, p wire.IngestPlan) (prepared wire.IngestPrepared, err error) {
	for _, look := range []func(context.Context, wire.IngestPlan) error{i.lookAzure, i.lookStream, i.lookTable, i.lookDelivery} {
		if err := look(ctx, p); err != nil {
			return prepared, err
		}
	}
	var manifest bytes.Buffer
	encoder := json.NewEncoder(&manifest)
	err = i.listObjects(ctx, p.Bucket, p.Prefix, func(o listedObject) error {
		if isOutput(p, o.Key) {
			return nil
		}
		prepared.Objects++
		prepared.Bytes += o.Size
		return encoder.Encode(o)
	})
	if err != nil {
		return prepared, err
	}
	if prepared.Objects == 0 {
		return prepared, activities.Fail(activities.TypeNotFound, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: wire.IngestPrepare.Name, Target: "s3://" + p.Bucket + "/" + p.Prefix},
			Message:      "prefix: there is no object under it",
		})
	}
	_, err = i.S3.PutObject(ctx, &awss3.PutObjectInput{
		Bucket: &p.ReportBucket, Key: aws.String(manifestKey(p)), Body: bytes.NewReader(manifest.Bytes()),
	})
	return prepared, awscall.Failure("S3.PutObject", p.ReportBucket, err)
}

// isOutput tells objects that ingestions themselves write from those to take in.
func isOutput(p wire.IngestPlan, key string) bool {
	return p.Bucket == p.ReportBucket && p.ReportPrefix != "" && strings.HasPrefix(key, p.ReportPrefix) ||
		p.Bucket == p.DeliveryBucket && strings.HasPrefix(key, p.DeliveryPrefix)
}

func (i *Activities) lookAzure(ctx context.Context, p wire.IngestPlan) error {
	const operation = "AzureQueue.GetProperties"
	if i.Azure == nil {
		return activities.Fail(activities.TypeAccessDenied, activities.Failure{ErrorDetails: activities.ErrorDetails{Operation: operation, Target: p.Queue}, Message: azurequeue.NoCredentials(activity.GetInfo(ctx).TaskQueue)})
	}
	_, err := i.Azure.NewQueueClient(p.Queue).GetProperties(ctx, nil)
	return azurequeue.Failure(operation, p.Queue, err)
}

func (i *Activities) lookStream(ctx context.Context, p wire.IngestPlan) error {
	_, err := i.Kinesis.DescribeStreamSummary(ctx, &awskinesis.DescribeStreamSummaryInput{StreamName: &p.Stream})
	return awscall.Failure("Kinesis.DescribeStreamSummary", p.Stream, err)
}

func (i *Activities) lookTable(ctx context.Context, p wire.IngestPlan) error {
	body, err := json.Marshal(map[string]string{"TableName": p.Table})
	if err != nil {
		return err
	}
	_, err = i.DynamoDB.Call(ctx, "DescribeTable", body, 0)
	return err
}

func (i *Activities) lookDelivery(ctx context.Context, p wire.IngestPlan) error {
	for _, bucket := range []string{p.DeliveryBucket, p.ReportBucket} {
		_, err := i.S3.HeadBucket(ctx, &awss3.HeadBucketInput{Bucket: aws.String(bucket)})
		if err != nil {
			return awscall.Failure("S3.HeadBucket", bucket, err)
		}
	}
	_, err := i.SQS.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &p.Notifications}, awscall.InRegionOf(p.Notifications))
	return awscall.Failure("SQS.GetQueueAttributes", p.Notifications, err)
}

// listObjects calls each for every object under the prefix, in key order.
func (i *Activities) listObjects(ctx context.Context, bucket, prefix string, each func(listedObject) error) error {
	pages := awss3.NewListObjectsV2Paginator(i.S3, &awss3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return awscall.Failure("S3.ListObjectsV2", bucket, err)
		}
		for _, o := range page.Contents {
			if err := each(listedObject{Key: aws.ToString(o.Key), ETag: aws.ToString(o.ETag), Size: aws.ToInt64(o.Size)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// readManifest calls each for every object of the manifest with its number.
func (i *Activities) readManifest(ctx context.Context, p wire.IngestPlan, each func(n int64, o listedObject) error) error {
	object, err := i.S3.GetObject(ctx, &awss3.GetObjectInput{Bucket: &p.ReportBucket, Key: aws.String(manifestKey(p))})
	if err != nil {
		return awscall.Failure("S3.GetObject", p.ReportBucket+"/"+manifestKey(p), err)
	}
	defer object.Body.Close()
	decoder := json.NewDecoder(bufio.NewReader(object.Body))
	for n := int64(0); ; n++ {
		var o listedObject
		if err := decoder.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("manifest %s, line %d: %w", manifestKey(p), n+1, err)
		}
		if err := each(n, o); err != nil {
			return err
		}
	}
}
