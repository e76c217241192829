package dynamodb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// What the service says of changes to tables, under one code.
const (
	notToday    = "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After the first 4 decreases, each subsequent decrease in the same UTC day can be performed at most once every 3600 seconds."
	noMore      = "Subscriber limit exceeded: There is a limit of 2500 tables per account"
	notAtATime  = "Subscriber limit exceeded: Only 500 tables can be created, updated, or deleted simultaneously"
	limitExceed = "LimitExceededException"
)

// A quota that is not over in a while is told at once, in the service's words: neither
// tries nor the timeout are spent on it. Too many changes at a time are waited for.
func TestAQuotaOfTablesIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	for _, c := range []struct{ operation, command, document, says string }{
		{"UpdateTable", "update-table", `{"TableName":%q,"ProvisionedThroughput":{"ReadCapacityUnits":4,"WriteCapacityUnits":4}}`, notToday},
		{"CreateTable", "create-table", `{"TableName":%q,"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
			"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":5}}`, noMore},
	} {
		name := s.Name("table")
		if c.operation == "UpdateTable" {
			name = s.NewTable(harness.Table{Read: 5, Write: 5})
		}
		calls := func() int { return s.Guard.Counters(t).Sum(harness.DynamoDB, c.operation, name).Calls }
		before := calls() // making the table was one
		quota := s.Guard.Inject(t, harness.Fault{Service: harness.DynamoDB, Operation: c.operation, Target: name, Status: 400, Code: limitExceed, Message: c.says})
		refused := s.Starter("dynamodb", c.command, "--wait", "--retry", "2", "--timeout", "10m", "--cli-input-json", fmt.Sprintf(c.document, name)).Exits(t, 1)
		require.Contains(t, refused.Stderr, "Conflict")
		require.Contains(t, refused.Stderr, c.says)
		require.Equal(t, 1, calls()-before, c.operation)
		s.Guard.Clear(t, quota)

		s.Guard.Inject(t, harness.Fault{Service: harness.DynamoDB, Operation: c.operation, Target: name, Count: 2, Status: 400, Code: limitExceed, Message: notAtATime})
		s.Starter("dynamodb", c.command, "--wait", "--cli-input-json", fmt.Sprintf(c.document, name)).OK(t)
		require.Equal(t, 4, calls()-before, c.operation)
	}
}
