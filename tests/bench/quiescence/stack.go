package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/internal/quiescence"
	"sluice/tests/harness"
)

// bench lets the harness of the tests serve a program.
type bench struct {
	testing.TB
	cleanups []func()
}

func (b *bench) Helper()                         {}
func (b *bench) Failed() bool                    { return false }
func (b *bench) Context() context.Context        { return context.Background() }
func (b *bench) Cleanup(f func())                { b.cleanups = append(b.cleanups, f) }
func (b *bench) Logf(format string, args ...any) { log.Printf(format, args...) }
func (b *bench) Fatal(args ...any)               { b.cleanUp(); log.Fatal(args...) }
func (b *bench) Fatalf(format string, args ...any) {
	b.cleanUp()
	log.Fatalf(format, args...)
}

func (b *bench) cleanUp() {
	for len(b.cleanups) > 0 {
		last := len(b.cleanups) - 1
		f := b.cleanups[last]
		b.cleanups = b.cleanups[:last]
		f()
	}
}

func (b *bench) measure(r *report, out io.Writer) error {
	s := harness.Start(b, harness.Options{Own: true})
	worker := s.StartWorker("SLUICE_LOG_LEVEL=warn")
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	defer cancel()
	if err := countingRate(ctx, s, r, out); err != nil {
		return err
	}
	if err := dayOfWaiting(ctx, s, r, out); err != nil {
		return err
	}
	return observers(ctx, s, worker.Pid(), out)
}

// countingRate is how fast a queue full of events about distinct objects is
// counted, every tenth of them told twice.
func countingRate(ctx context.Context, s *harness.Stack, r *report, out io.Writer) error {
	const objects = 6000
	table := s.NewTable(harness.Table{})
	queue := s.NewQueue(nil)
	events, err := fill(ctx, s, queue, objects)
	if err != nil {
		return err
	}
	began := time.Now()
	run, err := s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.Name("count"), TaskQueue: s.TaskQueue},
		"CountObjects", json.RawMessage(fmt.Sprintf(`{"queueUrl":%q,"table":%q}`, queue, table)))
	if err != nil {
		return err
	}
	counted, err := awaitCount(ctx, s, table, objects)
	if err != nil {
		return err
	}
	took := time.Since(began)
	r.CountEventsPerSecond = float64(events) / took.Seconds()
	fmt.Fprintf(out, "\ncounting: %d events about %d objects in %.1fs, %.0f events/s\n", events, counted, took.Seconds(), r.CountEventsPerSecond)
	return s.Client.TerminateWorkflow(ctx, run.GetID(), run.GetRunID(), "measured")
}

func fill(ctx context.Context, s *harness.Stack, url string, objects int) (events int, err error) {
	var entries []sqstypes.SendMessageBatchRequestEntry
	for i := range objects {
		copies := 1
		if i%10 == 0 {
			copies = 2
		}
		for range copies {
			entries = append(entries, sqstypes.SendMessageBatchRequestEntry{
				Id: aws.String(fmt.Sprint(len(entries))),
				MessageBody: aws.String(fmt.Sprintf(`{"Records":[{"eventVersion":"2.1","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"landing"},`+
					`"object":{"key":"part-%06d","size":1000,"eTag":"0123456789abcdef0123456789abcdef","sequencer":"0055AED6DC%08X"}}}]}`, i, i)),
			})
			events++
		}
		if len(entries) >= 9 || i == objects-1 {
			if _, err := s.SQS.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries}); err != nil {
				return events, err
			}
			entries = nil
		}
	}
	return events, nil
}

func awaitCount(ctx context.Context, s *harness.Stack, table string, want int64) (int64, error) {
	for {
		answer, err := s.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &table, ConsistentRead: aws.Bool(true),
			Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "landing"}},
		})
		if err != nil {
			return 0, err
		}
		if n, ok := answer.Item["num_records"].(*types.AttributeValueMemberN); ok {
			var counted int64
			if _, err := fmt.Sscan(n.Value, &counted); err != nil {
				return 0, err
			}
			if counted >= want {
				return counted, nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// dayOfWaiting is the history events of a day of observation: what a report costs,
// taken from a real history, times the reports of the busiest day there can be,
// with the start and the end.
func dayOfWaiting(ctx context.Context, s *harness.Stack, r *report, out io.Writer) error {
	short, err := eventsOf(ctx, s, "signal-free", 0)
	if err != nil {
		return err
	}
	long, err := eventsOf(ctx, s, "flapping", 3)
	if err != nil {
		return err
	}
	perReport := float64(long.events-short.events) / float64(long.reports-short.reports)
	reports := busiestDay()
	ends := float64(short.events) - float64(short.reports)*perReport
	r.EventsPerDay = int(ends + perReport*float64(reports) + 0.5)
	fmt.Fprintf(out, "waiting: %.1f events a report, at most %d reports in the first day: %d events\n", perReport, reports, r.EventsPerDay)
	return nil
}

// busiestDay polls every second for a day a target whose phase changes all the
// time, and counts the reports.
func busiestDay() (reports int) {
	var budget quiescence.Reports
	start := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	phases := []string{quiescence.Flowing, quiescence.Settling}
	for i := range 24 * 3600 {
		now := start.Add(time.Duration(i) * time.Second)
		if phase := phases[i%2]; budget.Due(phase, now) {
			budget.Told(phase, now)
			reports++
		}
	}
	return reports
}

type watched struct{ events, reports int }

// eventsOf runs a watch whose target changes so many times and counts the events
// of its history and the reports in it.
func eventsOf(ctx context.Context, s *harness.Stack, name string, changes int) (watched, error) {
	table := s.NewTable(harness.Table{})
	set := func(n int) error {
		_, err := s.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: "landing"}, "num_records": &types.AttributeValueMemberN{Value: fmt.Sprint(n)},
		}})
		return err
	}
	if err := set(1); err != nil {
		return watched{}, err
	}
	run, err := s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.Name(name), TaskQueue: s.TaskQueue}, "Quiescence",
		json.RawMessage(fmt.Sprintf(`{"source":{"dynamodb":{"table":%q,"key":{"id":{"S":"landing"}}}},"repeats":8,"delay":{"base":"300ms"}}`, table)))
	if err != nil {
		return watched{}, err
	}
	for i := range changes {
		if err := awaitSettling(ctx, s, run.GetID(), int64(i+1)); err != nil {
			return watched{}, err
		}
		if err := set(i + 2); err != nil {
			return watched{}, err
		}
	}
	if err := run.Get(ctx, nil); err != nil {
		return watched{}, err
	}
	return countEvents(ctx, s, run)
}

func awaitSettling(ctx context.Context, s *harness.Stack, id string, count int64) error {
	for {
		answer, err := s.Client.QueryWorkflow(ctx, id, "", "status")
		if err == nil {
			var status struct {
				Phase string
				Count int64
			}
			if err := answer.Get(&status); err != nil {
				return err
			}
			if status.Phase == quiescence.Settling && status.Count == count {
				return nil
			}
			if status.Phase == quiescence.Done {
				return errors.New("the watch ended early")
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func countEvents(ctx context.Context, s *harness.Stack, run client.WorkflowRun) (w watched, err error) {
	history := s.Client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return w, err
		}
		w.events++
		if event.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED {
			w.reports++
		}
	}
	return w, nil
}
