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
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/throughput"
	"sluice/tests/harness"
)

// The guard saves up one second's units, so that what is too much is refused at
// once, and the server calls 150 events a full history, so that owners of budgets
// continue as new while they are in use. Most tests wait for a budget, so that more of
// them than there are processors run at once.
func TestMain(m *testing.M) {
	harness.AtOnce(6)
	os.Exit(harness.Main(m, "--burst", "1s", "--dynamic", "limit.historyCount.suggestContinueAsNew=150"))
}

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

// puts are so many PutItem documents of a table, ids numbered from 0.
func puts(table string, n int, more string) (documents []string) {
	for i := range n {
		documents = append(documents, fmt.Sprintf(`{"TableName":"%s","Item":{"id":{"S":"%d"}%s}}`, table, i, more))
	}
	return documents
}

func outputs(t *testing.T, run client.WorkflowRun) []json.RawMessage {
	t.Helper()
	var out []json.RawMessage
	require.NoError(t, run.Get(t.Context(), &out))
	return out
}

// budget names one of the test's own scope.
func budget(s *harness.Stack, table, direction string) string {
	return "dynamodb/" + s.TaskQueue + "/us-east-1/" + table + "/" + direction
}

// status asks the owner of a budget.
func status(ctx context.Context, s *harness.Stack, table, direction string) (st throughput.Status, err error) {
	value, err := s.Client.QueryWorkflow(ctx, "throughput/"+budget(s, table, direction), "", "status")
	if err != nil {
		return st, err
	}
	return st, value.Get(&st)
}

// awaitStatus waits for a state of a budget.
func awaitStatus(t *testing.T, s *harness.Stack, table, direction, what string, is func(throughput.Status) bool) (st throughput.Status) {
	t.Helper()
	harness.Await(t, what, func(ctx context.Context) (err error) {
		if st, err = status(ctx, s, table, direction); err == nil && !is(st) {
			err = fmt.Errorf("%+v", st)
		}
		return err
	})
	return st
}

func TestDynamoDBPutsAndGets(t *testing.T) {
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 50, Write: 50})
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

// It pauses every budget there is, so that it runs alone.
func TestDynamoDBFromTheStarter(t *testing.T) {
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 50, Write: 50})
	s.StartWorker()

	s.Starter("dynamodb", "put-item", "--wait", "--priority", "1",
		"--cli-input-json", `{"TableName":"`+name+`","Item":{"id":{"S":"1"},"note":{"M":{"$from":{"S":"not an expression"}}}}}`).OK(t)
	got := s.Starter("dynamodb", "GetItem", "--wait", "--cli-input-json", `{"TableName":"`+name+`","Key":{"id":{"S":"1"}}}`).OK(t)
	require.Contains(t, got.Stdout, "not an expression")

	missing := s.Starter("dynamodb", "get-item", "--wait", "--cli-input-json", `{"TableName":"no-such-table","Key":{"id":{"S":"1"}}}`).Exits(t, 1)
	require.Contains(t, missing.Stderr, "NotFound")
	s.Starter("dynamodb", "drop-everything", "--cli-input-json", `{}`).Exits(t, 2)

	budget := budget(s, name, "write")
	listed := s.Starter("throughput", "list").OK(t)
	require.Contains(t, listed.Stdout, budget)

	set := s.Starter("throughput", "set", budget, "--units-per-second", "20").OK(t)
	var st throughput.Status
	require.NoError(t, json.Unmarshal([]byte(set.Stdout), &st))
	require.Equal(t, throughput.Units(19.6), st.Effective)
	require.True(t, st.SetByHand)
	s.Starter("throughput", "set", budget, "--units-per-second", "0").OK(t)

	s.Starter("throughput", "pause", budget, "--reason", "maintenance").OK(t)
	shown := s.Starter("throughput", "status", budget).Exits(t, 3)
	require.Contains(t, shown.Stdout, `"reason": "maintenance"`)
	described := s.Temporal("workflow", "list", "--query", `SluiceState="PAUSED" AND SluiceTarget="`+name+`"`).OK(t)
	require.Contains(t, described.Stdout, "throughput/")
	s.Starter("throughput", "unpause", budget).OK(t)

	s.Temporal("workflow", "update", "execute", "--workflow-id", "throughput/"+budget, "--name", "set", "--input", `{"utilisation":1}`).Exits(t, 1)
	s.Temporal("workflow", "signal", "--workflow-id", "throughput/"+budget, "--name", "pause", "--input", `{"for":"1s"}`).OK(t)
	s.Temporal("workflow", "signal", "--workflow-id", "throughput/"+budget, "--name", "pause", "--input", `{"for":1}`).OK(t)
	awaitStatus(t, s, name, "write", "the pause has passed", func(st throughput.Status) bool { return !st.Paused })
	s.Record("throughput/"+budget, "Throughput", "leased-set-paused")

	all := s.Starter("throughput", "pause", "--all", "--for", "2s").OK(t)
	require.Contains(t, all.Stdout, "/us-east-1/_control/write")
	s.Starter("throughput", "unpause", "--all").OK(t)
}

// A put whose answer is lost may be repeated; an update whose answer is lost may
// not, and is told to be in doubt.
func TestWritesInDoubt(t *testing.T) {
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 100, Write: 100})
	w := s.StartWorker()
	call := caller(t, s)

	s.Guard.Inject(t, harness.Fault{Service: "dynamodb", Operation: "PutItem", Target: name, From: 1, Count: 1, Drop: "answer"})
	outputs(t, call("PutItem", 0, `{"TableName":"`+name+`","Item":{"id":{"S":"put"},"v":{"S":"a value"}}}`))

	s.Guard.Inject(t, harness.Fault{Service: "dynamodb", Operation: "UpdateItem", Target: name, From: 1, Count: 1, Drop: "answer"})
	update := `{"TableName":"` + name + `","Key":{"id":{"S":"n"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}`
	err := call("UpdateItem", 0, update).Get(t.Context(), nil)
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, "Ambiguous", application.Type())
	var details activities.ErrorDetails
	var checkpoint json.RawMessage
	require.NoError(t, application.Details(&details, &checkpoint))
	require.Equal(t, activities.ErrorDetails{Operation: "DynamoDB.UpdateItem", Target: name}, details)
	require.Empty(t, checkpoint, "nobody goes on from it")
	require.Equal(t, 1, strings.Count(w.Logs(), "DynamoDB.UpdateItem "+name), "one line a failed call")
	require.NotContains(t, w.Logs(), "a value", "calls are logged without values")
	got, err := s.DynamoDB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "n"}}})
	require.NoError(t, err)
	require.Equal(t, &types.AttributeValueMemberN{Value: "1"}, got.Item["n"], "sent once")

	outputs(t, call("UpdateItem", 0, update)) // without a fault
}

// A worker that dies between the call and its answer leaves the mark, and the next
// one does not send again.
func TestAWorkerThatDiesWhileWritingLeavesItInDoubt(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 100, Write: 100})
	first := s.StartWorker()
	call := caller(t, s)
	s.Guard.Inject(t, harness.Fault{Service: "dynamodb", Operation: "UpdateItem", Target: name, From: 1, Count: 1, Latency: "8s"})
	run := call("UpdateItem", 0, `{"TableName":"`+name+`","Key":{"id":{"S":"n"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}`)
	harness.Await(t, "the update is under way", func(context.Context) error {
		if s.Guard.Counters(t).Sum(harness.DynamoDB, "UpdateItem", name).Calls == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	first.Kill()
	s.StartWorker()
	var application *temporal.ApplicationError
	require.ErrorAs(t, run.Get(t.Context(), nil), &application)
	require.Equal(t, "Ambiguous", application.Type())
	require.EqualValues(t, 1, s.Guard.Counters(t).Sum(harness.DynamoDB, "UpdateItem", name).Calls)
}

func TestTransactionsAreRepeatedUnderOneToken(t *testing.T) {
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 100, Write: 100})
	s.StartWorker()
	call := caller(t, s)
	s.Guard.Inject(t, harness.Fault{Service: "dynamodb", Operation: "TransactWriteItems", Target: name, From: 1, Count: 1, Drop: "answer"})
	outputs(t, call("TransactWriteItems", 0, `{"TransactItems":[{"Update":{"TableName":"`+name+`","Key":{"id":{"S":"n"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}]}`))
	got, err := s.DynamoDB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "n"}}})
	require.NoError(t, err)
	require.Equal(t, &types.AttributeValueMemberN{Value: "1"}, got.Item["n"], "applied once")
}

// A request hands its first run on to every try, so that a transaction whose try is
// repeated goes under the token of the first.
func TestATransactionOfARequestKeepsItsToken(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 100, Write: 100})
	s.StartWorker()
	s.Guard.Inject(t, harness.Fault{Service: "dynamodb", Operation: "TransactWriteItems", Target: name, From: 1, Count: 4, Drop: "answer"}) // all that one try sends
	s.Starter("dynamodb", "transact-write-items", "--wait", "--cli-input-json",
		`{"TransactItems":[{"Update":{"TableName":"`+name+`","Key":{"id":{"S":"n"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}]}`).OK(t)
	require.Equal(t, 5, s.Guard.Counters(t).Sum(harness.DynamoDB, "TransactWriteItems", name).Calls)
	got, err := s.DynamoDB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "n"}}})
	require.NoError(t, err)
	require.Equal(t, &types.AttributeValueMemberN{Value: "1"}, got.Item["n"], "applied once")
}
