package dynamodb_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
)

// A try whose answer comes too late is followed by another. The transaction is
// applied by the first, so that the second has to go under the token of the first.
func TestATransactionWhoseTryTimesOutIsAppliedOnce(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 100, Write: 100})
	s.StartWorker()
	s.Guard.Inject(t, harness.Fault{Service: harness.DynamoDB, Operation: "TransactWriteItems", Target: name, Count: 1, Stall: "14s"})
	document := fmt.Sprintf(`{"jobs":[{"id":"count","activity":"DynamoDB.TransactWriteItems","timeout":"4s","retry":2,"input":
		{"TransactItems":[{"Update":{"TableName":%q,"Key":{"id":{"S":"n"}},"UpdateExpression":"ADD c :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}]}}]}`, name)
	run, err := s.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: s.Name("request"), TaskQueue: s.TaskQueue},
		workflows.TypeRequest, json.RawMessage(document))
	require.NoError(t, err)
	var result request.Result
	require.NoError(t, run.Get(t.Context(), &result))
	require.Contains(t, result.Jobs, "count")
	require.Greater(t, s.Guard.Counters(t).Sum(harness.DynamoDB, "TransactWriteItems", name).Calls, 1, "it was sent again")
	got, err := s.DynamoDB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "n"}}})
	require.NoError(t, err)
	require.Equal(t, &types.AttributeValueMemberN{Value: "1"}, got.Item["c"], "applied once")
}
