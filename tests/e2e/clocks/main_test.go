// Package clocks_test is about time: clocks of workers that differ by minutes, a
// machine that sleeps, and instants that pass while nobody is there.
package clocks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// start starts a workflow through the starter.
func start(t *testing.T, s *harness.Stack, group, id, document string) {
	t.Helper()
	s.StarterWith(document, group, "run", "--id", id, "-f", "-").OK(t)
}

// ended waits for the end of a workflow and returns its result.
func ended[Result any](t *testing.T, s *harness.Stack, id string) (r Result, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return r, s.Client.GetWorkflow(ctx, id, "").Get(ctx, &r)
}

// status asks for the status document of a workflow.
func status[Status any](ctx context.Context, s *harness.Stack, id string) (st Status, err error) {
	value, err := s.Client.QueryWorkflow(ctx, id, "", "status")
	if err != nil {
		return st, err
	}
	var raw json.RawMessage
	if err := value.Get(&raw); err != nil {
		return st, err
	}
	return st, json.Unmarshal(raw, &st)
}

// count writes the item that a watch looks at, with so many records.
func count(t *testing.T, s *harness.Stack, table string, n int) {
	t.Helper()
	_, err := s.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: "landing"}, "num_records": &types.AttributeValueMemberN{Value: fmt.Sprint(n)},
	}})
	require.NoError(t, err)
}
