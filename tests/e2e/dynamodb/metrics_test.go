package dynamodb_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// metrics reads a worker's metrics of a table and direction, by name.
func metrics(ctx context.Context, w *harness.Worker, table, direction string) (map[string]float64, error) {
	text, err := w.Scrape(ctx)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, rest, ok := strings.Cut(line, "{")
		labels, value, closed := strings.Cut(rest, "} ")
		if !ok || !closed || !strings.Contains(labels, `table="`+table+`"`) || !strings.Contains(labels, `direction="`+direction+`"`) {
			continue
		}
		if values[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
	}
	return values, nil
}

// A worker tells, by table and direction, what waits and how long, the share in
// force, what was consumed and what was throttled.
func TestAWorkersMetricsTellOfItsBudgets(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 10, Write: 3}) // ten seconds of waiting to be seen
	w := s.StartWorker()
	s.Guard.Inject(t, harness.Fault{Service: "dynamodb", Operation: "PutItem", Target: name, From: 1, Count: 2, Status: 400, Code: "ProvisionedThroughputExceededException"})
	run := caller(t, s)("PutItem", 0, puts(name, 30, "")...)
	var seen map[string]float64
	harness.Await(t, "a queue with an age", func(ctx context.Context) (err error) {
		if seen, err = metrics(ctx, w, name, "write"); err != nil {
			return err
		}
		if seen["sluice_dynamodb_queue_length"] == 0 || seen["sluice_dynamodb_queue_age_seconds"] == 0 || seen["sluice_dynamodb_rate_units_per_second"] == 0 {
			return fmt.Errorf("%v", seen)
		}
		return nil
	})
	require.LessOrEqual(t, seen["sluice_dynamodb_rate_units_per_second"], 2.94)
	outputs(t, run)
	harness.Await(t, "all is counted and nothing waits", func(ctx context.Context) (err error) {
		if seen, err = metrics(ctx, w, name, "write"); err != nil {
			return err
		}
		if seen["sluice_dynamodb_queue_length"] != 0 || seen["sluice_dynamodb_queue_age_seconds"] != 0 ||
			seen["sluice_dynamodb_consumed_units_total"]+seen["sluice_dynamodb_consumed_units"] != 30 ||
			seen["sluice_dynamodb_throttled_calls_total"]+seen["sluice_dynamodb_throttled_calls"] != 2 {
			return fmt.Errorf("%v", seen)
		}
		return nil
	})
}
