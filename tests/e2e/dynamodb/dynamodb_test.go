// Package dynamodb_test exercises the DynamoDB activities and the budgets through
// the programs themselves: a worker process, the starter, the `temporal` command
// line, DynamoDB behind the guard.
package dynamodb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/throughput"
	"sluice/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// order asks the workflow below for a number of calls of one activity.
type order struct {
	Activity  string
	TaskQueue string
	Inputs    []json.RawMessage
	Priority  int
	Timeout   time.Duration
}

// calls is a workflow that runs activities at once and answers their outputs;
// it fails with the first error.
func calls(ctx workflow.Context, o order) ([]json.RawMessage, error) {
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Minute
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              o.TaskQueue,
		ScheduleToCloseTimeout: o.Timeout,
		HeartbeatTimeout:       10 * time.Second,
		Priority:               temporal.Priority{PriorityKey: o.Priority},
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second},
	})
	futures := make([]workflow.Future, len(o.Inputs))
	for i, in := range o.Inputs {
		futures[i] = workflow.ExecuteActivity(ctx, o.Activity, in)
	}
	outputs := make([]json.RawMessage, len(futures))
	for i, f := range futures {
		if err := f.Get(ctx, &outputs[i]); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// caller runs the workflow in the test process; the activities are the worker's.
func caller(t *testing.T, s *harness.Stack) func(operation string, priority int, inputs ...string) client.WorkflowRun {
	t.Helper()
	queue := s.Name("calls")
	w := worker.New(s.Client, queue, worker.Options{})
	w.RegisterWorkflow(calls)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	n := 0
	return func(operation string, priority int, inputs ...string) client.WorkflowRun {
		o := order{Activity: "DynamoDB." + operation, TaskQueue: s.TaskQueue, Priority: priority}
		for _, in := range inputs {
			o.Inputs = append(o.Inputs, json.RawMessage(in))
		}
		n++
		run, err := s.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: fmt.Sprintf("%s/%d", queue, n), TaskQueue: queue,
		}, calls, o)
		require.NoError(t, err)
		return run
	}
}

func outputs(t *testing.T, run client.WorkflowRun) []json.RawMessage {
	t.Helper()
	var out []json.RawMessage
	require.NoError(t, run.Get(t.Context(), &out))
	return out
}

// table makes a table of the test's own with these units for reads and writes; 0
// is on demand.
func table(t *testing.T, s *harness.Stack, read, write int64, indexes ...types.GlobalSecondaryIndex) string {
	t.Helper()
	name := s.Name("table")
	in := &dynamodb.CreateTableInput{
		TableName:            &name,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		BillingMode:          types.BillingModePayPerRequest,
	}
	for _, index := range indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, index)
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: index.KeySchema[0].AttributeName, AttributeType: types.ScalarAttributeTypeS,
		})
	}
	if read > 0 {
		in.BillingMode = types.BillingModeProvisioned
		in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: &read, WriteCapacityUnits: &write}
	}
	_, err := s.DynamoDB.CreateTable(t.Context(), in)
	require.NoError(t, err)
	harness.Await(t, "table is active", func(ctx context.Context) error {
		out, err := s.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil || out.Table.TableStatus != types.TableStatusActive {
			return errors.New("not yet")
		}
		return nil
	})
	return name
}

// status asks the owner of a budget.
func status(ctx context.Context, s *harness.Stack, table, direction string) (st throughput.Status, err error) {
	value, err := s.Client.QueryWorkflow(ctx, "throughput/dynamodb/us-east-1/"+table+"/"+direction, "", "status")
	if err != nil {
		return st, err
	}
	return st, value.Get(&st)
}

func TestDynamoDBPutsAndGets(t *testing.T) {
	s := harness.Start(t)
	name := table(t, s, 50, 50)
	s.StartWorker()
	call := caller(t, s)

	outputs(t, call("PutItem", 0, `{"TableName":"`+name+`","Item":{"id":{"S":"1"},"n":{"N":"12345678901234567890"},"b":{"B":"AAEC/w=="}}}`))
	got := outputs(t, call("GetItem", 0, `{"TableName":"`+name+`","Key":{"id":{"S":"1"}},"ConsistentRead":true}`))
	var answer struct {
		Item             map[string]map[string]string
		ConsumedCapacity struct{ CapacityUnits float64 }
	}
	require.NoError(t, json.Unmarshal(got[0], &answer))
	require.Equal(t, map[string]map[string]string{"id": {"S": "1"}, "n": {"N": "12345678901234567890"}, "b": {"B": "AAEC/w=="}}, answer.Item)
	require.Equal(t, 1.0, answer.ConsumedCapacity.CapacityUnits)

	st, err := status(t.Context(), s, name, "write")
	require.NoError(t, err)
	require.Equal(t, throughput.Units(50), st.Provisioned)
	require.Equal(t, throughput.Units(49), st.Effective)
	require.Len(t, st.Leases, 1)
	require.Equal(t, throughput.Units(49), st.Leases[0].UnitsPerSecond)
}
