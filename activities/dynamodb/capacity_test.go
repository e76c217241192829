package dynamodb

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// What a budget starts from, by what the service says of the table; 0 is no
// ceiling.
func TestCaseD12WhatIsProvisioned(t *testing.T) {
	const indexed = `{"Table":{"ProvisionedThroughput":{"ReadCapacityUnits":10,"WriteCapacityUnits":5},
		"LocalSecondaryIndexes":[{"IndexName":"local"}],
		"GlobalSecondaryIndexes":[{"IndexName":"i","ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":2}},{"IndexName":"none"}]}}`
	for _, c := range []struct {
		name, resource, table string
		want                  float64
	}{
		{"reads", "orders/read", indexed, 10},
		{"writes", "orders/write", indexed, 5},
		{"a global index", "orders/index/i/write", indexed, 2},
		{"an index without figures", "orders/index/none/read", indexed, 0},
		{"a local index lives on its table", "orders/index/local/read", indexed, 0},
		{"an index that is gone", "orders/index/gone/read", indexed, 0},
		{"on demand", "orders/write", `{"Table":{"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},"ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0}}}`, 0},
		{"on demand with a maximum", "orders/read", `{"Table":{"OnDemandThroughput":{"MaxReadRequestUnits":70,"MaxWriteRequestUnits":-1}}}`, 70},
		{"on demand without one", "orders/write", `{"Table":{"OnDemandThroughput":{"MaxReadRequestUnits":70,"MaxWriteRequestUnits":-1}}}`, 0},
		{"nothing said", "orders/write", `{"Table":{"ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0}}}`, 0},
		{"nothing at all", "orders/write", `{"Table":{}}`, 0},
	} {
		db := against(t, &fakeDynamoDB{replies: []reply{{200, c.table, ""}}})
		require.Equal(t, throughput.Units(c.want), describedBy(t, db, "dynamodb/r/"+c.resource), c.name)
	}
	gone := against(t, &fakeDynamoDB{replies: []reply{{400, `{"__type":"ResourceNotFoundException"}`, ""}}})
	require.Zero(t, describedBy(t, gone, "dynamodb/r/orders/read"), "the service refuses its calls itself")
}

func describedBy(t *testing.T, db *Activities, resource string) throughput.Milli {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context, in wire.ProvisionedInput) (wire.ProvisionedOutput, error) {
		return db.describeCapacity(ctx, in)
	}, activity.RegisterOptions{Name: wire.DescribeCapacity.Name})
	value, err := env.ExecuteActivity(wire.DescribeCapacity.Name, wire.ProvisionedInput{Resource: resource})
	require.NoError(t, err)
	var out wire.ProvisionedOutput
	require.NoError(t, value.Get(&out))
	return out.UnitsPerSecond
}

// A table of another account is known by its ARN alone: its name may be that of one's
// own.
func TestATableOfAnotherAccountIsLookedUpByItsARN(t *testing.T) {
	const arn = "arn:aws:dynamodb:eu-west-1:210987654321:table/orders"
	fake := &fakeDynamoDB{replies: []reply{{200, `{"Table":{"ProvisionedThroughput":{"ReadCapacityUnits":10,"WriteCapacityUnits":5}}}`, ""}}}
	db := against(t, fake)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(db.describeCapacity, activity.RegisterOptions{Name: wire.DescribeCapacity.Name})
	_, err := env.ExecuteActivity(wire.DescribeCapacity.Name, wire.ProvisionedInput{Resource: "dynamodb/r/orders/read", Table: arn})
	require.NoError(t, err)
	require.JSONEq(t, `{"TableName":"`+arn+`"}`, string(fake.requests[0]))
}
