package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"sluice/activities/dynamodb"
	"sluice/internal/connect"
	"sluice/internal/wire"
	"sluice/tests/harness"
	"sluice/workflows/throughput"
)

// leasing are the Actions of the worker's side of a budget; all others of its
// namespace are the owner's.
var leasing = []string{"UpdateWorkflow", "ExecuteMultiOperation"}

// callsPerSecond of one unit are a tenth of the table's: steady use.
const callsPerSecond = 10

// startSteady makes calls through the scheduler of a worker, in this process, so that
// nothing but its leases and their owner is counted.
func startSteady(ctx context.Context, s *harness.Stack) (func(), error) {
	table := s.NewTable(harness.Table{Read: 10 * callsPerSecond, Write: 10 * callsPerSecond})
	logger := connect.TemporalLogger(zap.NewNop())
	db := dynamodb.New(dynamodb.Config{
		Client: s.DynamoDB, Place: s.Env("SLUICE_THROUGHPUT_SCOPE") + "/us-east-1", Worker: "bench", TaskQueue: s.TaskQueue, Logger: logger,
		Owner: throughput.Owners{Client: s.Client, TaskQueue: wire.ThroughputQueue(s.Env("SLUICE_THROUGHPUT_SCOPE"))},
	})
	ctx, cancel := context.WithCancel(ctx)
	var calling sync.WaitGroup
	calling.Go(func() {
		tick := time.NewTicker(time.Second / callsPerSecond)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			document, _ := json.Marshal(map[string]any{"TableName": table, "Item": map[string]any{"id": map[string]string{"S": fmt.Sprint(n % 100)}}})
			calling.Go(func() { _, _ = db.Call(ctx, "PutItem", document, 3) })
		}
	})
	return func() { cancel(); calling.Wait(); db.Close() }, nil
}
