package dynamodb

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/activities/dynamodb/scheduler"
	"sluice/internal/throughput"
)

// stingy is an owner of budgets that all give a hundredth of a unit a second.
type stingy struct{}

func (stingy) Lease(context.Context, string, throughput.LeaseRequest) (throughput.Lease, error) {
	now := time.Now()
	return throughput.Lease{UnitsPerSecond: throughput.Unit / 100, AsOf: now, ExpiresAt: now.Add(throughput.LeaseTime)}, nil
}

func (stingy) Release(context.Context, string, string) error { return nil }

// A call that waits for its turn after the service refused it tells what the service
// said, not only that it waits.
func TestWhatTheServiceSaidIsNotHiddenByTheWaitForATurn(t *testing.T) {
	const said = "Too many operations for a given subscriber"
	fake := &fakeDynamoDB{replies: []reply{{400, `{"__type":"LimitExceededException","message":"` + said + `"}`, ""}}}
	db := against(t, fake, func(c *Config) { c.Owner = stingy{} })
	_, err := db.Call(t.Context(), "CreateTable", []byte(`{"TableName":"orders"}`), 0)
	require.Equal(t, activities.TypeThrottled, activities.TypeOf(err))
	require.ErrorContains(t, err, "no capacity left of dynamodb/eu-west-1/_control/write")
	require.ErrorContains(t, err, said)
}

func requestFor(t *testing.T, operation, document string) throughput.Request {
	t.Helper()
	r, err := throughput.ParseRequest(operation, []byte(document))
	require.NoError(t, err)
	return r
}

// What the service refuses for a false condition it charges for all the same: the
// estimate stands.
func TestAFailedConditionIsChargedItsEstimate(t *testing.T) {
	r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{"id":{"S":"x"}},"ConditionExpression":"attribute_exists(id)"}`)
	refused := failureOf(r, &refusal{status: 400, code: "ConditionalCheckFailedException"})
	require.Equal(t, activities.TypeConditionFailed, refused.errType)
	require.Equal(t, scheduler.Outcome{}, refused.outcome)
}

// A throttle that is blamed on a range of keys is told apart from one of the table.
func TestAThrottleOfAKeyRangeIsToldApart(t *testing.T) {
	r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{"id":{"S":"x"}}}`)
	for reasons, keyRange := range map[string]bool{
		``: false,
		`{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"arn:aws:dynamodb:r:1:table/orders"}`:    true,
		`{"reason":"TableWriteProvisionedThroughputExceeded","resource":"arn:aws:dynamodb:r:1:table/orders"}`: false,
		`{"reason":"IndexWriteKeyRangeThroughputExceeded","resource":"arn:aws:dynamodb:r:1:table/orders/index/i"},
		 {"reason":"TableWriteAccountLimitExceeded","resource":"arn:aws:dynamodb:r:1:table/orders"}`: false,
	} {
		for _, name := range []string{"throttlingReasons", "ThrottlingReasons"} {
			failed := failureOf(r, &refusal{status: 400, code: "ThrottlingException", body: []byte(`{"` + name + `":[` + reasons + `]}`)})
			require.Equal(t, keyRange, failed.outcome.KeyRange, reasons)
			require.Equal(t, 1, failed.outcome.Throttled)
		}
	}
}
