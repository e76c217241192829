package dynamodb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
)

// TestAWriteInDoubtDuringASuspensionIsNotSentAgain: its answer is lost after the
// suspension asked the job to stop. The job fails at once, the other one goes on
// when the request is resumed.
func TestAWriteInDoubtDuringASuspensionIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 100, Write: 100})
	s.StartWorker()
	s.Guard.Inject(t, harness.Fault{Service: "dynamodb", Operation: "UpdateItem", Target: name, From: 1, Count: 1, Latency: "4s", Drop: "answer"})
	run, err := s.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "request/" + s.Name("r"), TaskQueue: s.TaskQueue}, workflows.TypeRequest,
		json.RawMessage(fmt.Sprintf(`{"maxParallelJobs":1,"jobs":[
			{"id":"w","activity":"DynamoDB.UpdateItem","heartbeat":"15s","retry":3,"input":{"TableName":%q,"Key":{"id":{"S":"n"}},
				"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}},
			{"id":"p","activity":"DynamoDB.PutItem","heartbeat":"15s","input":{"TableName":%q,"Item":{"id":{"S":"p"}}}}]}`, name, name)))
	require.NoError(t, err)
	harness.Await(t, "the update is under way", func(context.Context) error {
		if s.Guard.Counters(t).Sum(harness.DynamoDB, "UpdateItem", name).Calls == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	var suspended request.Status
	tell := func(message, input string) {
		handle, err := s.Client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: run.GetID(), UpdateName: message,
			Args: []any{json.RawMessage(input)}, WaitForStage: client.WorkflowUpdateStageCompleted})
		require.NoError(t, err)
		require.NoError(t, handle.Get(t.Context(), &suspended))
	}
	tell("suspend", `{"grace":"60s","wait":"60s"}`)
	require.Equal(t, jobchain.Suspended, suspended.State, "the other job waits to be resumed")
	require.Equal(t, jobchain.Fail, suspended.Jobs[0].State)
	require.Contains(t, suspended.Jobs[0].Error, "Ambiguous")
	tell("resume", `{}`)
	require.ErrorContains(t, run.Get(t.Context(), nil), "Ambiguous")
	require.EqualValues(t, 1, s.Guard.Counters(t).Sum(harness.DynamoDB, "UpdateItem", name).Calls, "never sent again")
	require.EqualValues(t, 1, s.Guard.Counters(t).Sum(harness.DynamoDB, "PutItem", name).Calls, "the other one was done")
	got, err := s.DynamoDB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "n"}}})
	require.NoError(t, err)
	if n, ok := got.Item["n"]; ok { // whether the service had it is what nobody knows
		require.Equal(t, &types.AttributeValueMemberN{Value: "1"}, n)
	}
}
