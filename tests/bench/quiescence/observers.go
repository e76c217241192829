package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"sluice/tests/harness"
)

const (
	watchers = 1000
	// window is two polls of each watcher.
	window      = time.Minute
	mostWindows = 6
)

// observers measures the processor time of a worker that watches a thousand items,
// each with a watch of its own and by the default rule, none of which changes and
// none of which may fall quiet.
func observers(ctx context.Context, s *harness.Stack, pid int, out io.Writer) error {
	table := s.NewTable(harness.Table{})
	var group errgroup.Group
	group.SetLimit(16)
	for i := range watchers {
		id := fmt.Sprintf("landing-%d", i)
		input := json.RawMessage(fmt.Sprintf(`{"source":{"dynamodb":{"table":%q,"key":{"id":{"S":%q}}}},"minRecords":2}`, table, id))
		group.Go(func() error {
			_, err := s.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
				"id": &types.AttributeValueMemberS{Value: id}, "num_records": &types.AttributeValueMemberN{Value: "1"},
			}})
			if err != nil {
				return err
			}
			_, err = s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.Name("observer"), TaskQueue: s.TaskQueue}, "Quiescence", input)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	share, err := steadyShare(pid)
	if err != nil {
		fmt.Fprintf(out, "observers: not measured: %v\n", err)
		return nil
	}
	fmt.Fprintf(out, "observers: %d on one worker use %.1f%% of a core\n", watchers, 100*share)
	return nil
}

// steadyShare is the share of a core that a process uses once two windows in a row
// differ little: before, it still starts what it is to run.
func steadyShare(pid int) (float64, error) {
	last := 0.0
	for range mostWindows {
		before, err := processorTime(pid)
		if err != nil {
			return 0, err
		}
		time.Sleep(window)
		after, err := processorTime(pid)
		if err != nil {
			return 0, err
		}
		share := (after - before).Seconds() / window.Seconds()
		if last > 0 && math.Abs(share-last) <= 0.15*last {
			return share, nil
		}
		last = share
	}
	return 0, fmt.Errorf("it was not steady within %d windows of %s: %.1f%% in the last", mostWindows, window, 100*last)
}

// processorTime is what a process has used, as Linux counts it: in hundredths of a
// second.
func processorTime(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
