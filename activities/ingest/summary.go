package ingest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/internal/ingestion"
	"sluice/internal/wire"
)

const (
	summaryParallel  = 4               // delivered objects read at once
	clockSkew        = 5 * time.Minute // between S3's clock and Temporal's, at most
	listedMissing    = 100             // record numbers that the report lists for an object
	listedUnreadable = 100             // delivered objects that the report lists as unreadable
	progressBatch    = 100             // BatchGetItem's limit
)

// Summarise reads what was delivered since the run began and compares it with
// the records of its objects, by id; records of other runs are passed over. How
// many records an object has is what its task wrote down; where it wrote
// nothing, they are counted in the object. The outcome by object is written to
// the report, where an object that can't be read, of ours or of whoever else
// writes to the delivery's bucket, is a line with the reason: it fails nothing.
// It keeps nothing; a repeat reads again and overwrites the report.
func (i *Activities) Summarise(ctx context.Context, in wire.IngestSummariseInput) (wire.IngestSummary, error) {
	alive, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer stop()
	summary, err := i.summarise(alive, in)
	if interrupted := activities.Interrupted(alive, wire.IngestSummarise.Name, nil); err != nil && interrupted != nil {
		return summary, interrupted
	}
	return summary, err
}

func (i *Activities) summarise(ctx context.Context, in wire.IngestSummariseInput) (wire.IngestSummary, error) {
	c := newComparison(in.Plan.Run)
	if err := i.expect(ctx, in.Plan, c); err != nil {
		return wire.IngestSummary{}, err
	}
	if err := i.readDelivered(ctx, in, c); err != nil {
		return wire.IngestSummary{}, err
	}
	report := c.report()
	raw, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return wire.IngestSummary{}, err
	}
	report.Report = wire.IngestLocated{Bucket: in.Plan.ReportBucket, Key: reportKey(in.Plan)}
	_, err = i.S3.PutObject(ctx, &awss3.PutObjectInput{
		Bucket: &in.Plan.ReportBucket, Key: aws.String(reportKey(in.Plan)), Body: bytes.NewReader(raw),
	})
	return report.IngestSummary, awscall.Failure("S3.PutObject", in.Plan.ReportBucket, err)
}

// expect fills the comparison with how many records each object has.
func (i *Activities) expect(ctx context.Context, p wire.IngestPlan, c *comparison) error {
	progress := map[int64]int64{}
	var ids []int64
	var objects []listedObject
	err := i.readManifest(ctx, p, func(n int64, o listedObject) error {
		objects = append(objects, o)
		if ids = append(ids, n); len(ids) < progressBatch {
			return nil
		}
		batch := ids
		ids = nil
		return i.readProgress(ctx, p, batch, progress)
	})
	if err == nil && len(ids) > 0 {
		err = i.readProgress(ctx, p, ids, progress)
	}
	if err != nil {
		return err
	}
	for n, o := range objects {
		if records, known := progress[int64(n)]; known {
			c.add(p.Bucket+"/"+o.Key, ingestion.NewTally(records))
		} else if err := i.expectUnfinished(ctx, p, o, c); err != nil {
			return err
		}
	}
	return nil
}

// expectUnfinished counts the records of an object whose task wrote nothing. One
// that can't be read is a line of the report.
func (i *Activities) expectUnfinished(ctx context.Context, p wire.IngestPlan, o listedObject, c *comparison) error {
	name := p.Bucket + "/" + o.Key
	records, err := i.countRecords(ctx, p, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.unfinished[name] = true
	if err == nil {
		c.add(name, ingestion.NewTally(records))
		return nil
	}
	c.unread[name] = err
	c.add(name, ingestion.NewOpenTally(records))
	return nil
}

// readProgress looks up the progress items of the numbered objects.
func (i *Activities) readProgress(ctx context.Context, p wire.IngestPlan, numbers []int64, progress map[int64]int64) error {
	type attribute map[string]string
	keys := make([]map[string]attribute, len(numbers))
	byID := map[string]int64{}
	for at, n := range numbers {
		keys[at] = map[string]attribute{"id": {"S": progressID(p, n)}}
		byID[progressID(p, n)] = n
	}
	body, err := json.Marshal(map[string]any{"RequestItems": map[string]any{p.Table: map[string]any{"Keys": keys, "ConsistentRead": true}}})
	if err != nil {
		return err
	}
	answer, err := i.DynamoDB.Call(ctx, "BatchGetItem", body, 0)
	if err != nil {
		return err
	}
	var found struct {
		Responses map[string][]struct {
			ID      struct{ S string } `json:"id"`
			Records struct{ N string } `json:"records"`
		}
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("progress items in %s: %w", p.Table, err)
	}
	for _, item := range found.Responses[p.Table] {
		records, err := strconv.ParseInt(item.Records.N, 10, 64)
		if err != nil {
			return fmt.Errorf("progress item %s in %s: %w", item.ID.S, p.Table, err)
		}
		progress[byID[item.ID.S]] = records
	}
	return nil
}

// readDelivered reads every object that was delivered since the run began.
func (i *Activities) readDelivered(ctx context.Context, in wire.IngestSummariseInput, c *comparison) error {
	found := make(chan found, summaryParallel)
	reading, readingCtx := errgroup.WithContext(ctx)
	reading.SetLimit(summaryParallel + 1)
	reading.Go(func() error {
		defer close(found)
		objects, objectsCtx := errgroup.WithContext(readingCtx)
		objects.SetLimit(summaryParallel)
		err := i.listDelivered(objectsCtx, in, func(key string) {
			objects.Go(func() error { return i.readDeliveries(objectsCtx, in.Plan, key, found) })
		})
		return cmp.Or(objects.Wait(), err)
	})
	for f := range found {
		c.take(f)
	}
	return reading.Wait()
}

func (i *Activities) listDelivered(ctx context.Context, in wire.IngestSummariseInput, each func(key string)) error {
	pages := awss3.NewListObjectsV2Paginator(i.S3, &awss3.ListObjectsV2Input{Bucket: &in.Plan.DeliveryBucket, Prefix: &in.Plan.DeliveryPrefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return awscall.Failure("S3.ListObjectsV2", in.Plan.DeliveryBucket, err)
		}
		for _, o := range page.Contents {
			if o.LastModified == nil || o.LastModified.After(in.Since.Add(-clockSkew)) {
				each(aws.ToString(o.Key))
			}
		}
	}
	return nil
}
