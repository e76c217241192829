package awscall

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCaseD16OneTableDecides(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   Verdict
	}{
		{400, "ProvisionedThroughputExceeded", Verdict{Kind: Throttle}},
		{400, "ProvisionedThroughputExceededException", Verdict{Kind: Throttle}},
		{400, "com.amazon.coral.availability#ThrottlingException", Verdict{Kind: Throttle}},
		{400, "com.amazonaws.dynamodb.v20120810#RequestLimitExceeded", Verdict{Kind: Throttle}},
		{400, "ThrottlingException:http://internal.amazon.com/coral/", Verdict{Kind: Throttle}},
		{400, "DBProvisioningExceededError", Verdict{Kind: Throttle}},
		{400, "LimitExceededException", Verdict{Kind: Throttle}},
		{429, "", Verdict{Kind: Throttle}},
		{500, "InternalServerError", Verdict{Kind: Transient, Applied: true}},
		{500, "InternalServerErrorException", Verdict{Kind: Transient, Applied: true}},
		{400, "ReplicatedWriteConflictException", Verdict{Kind: Transient}},
		{400, "TransactionInProgressException", Verdict{Kind: Transient, Applied: true}},
		{503, "HTTP 503", Verdict{Kind: Transient, Applied: true}},
		{599, "", Verdict{Kind: Transient, Applied: true}},
		{0, "", Verdict{Kind: Transient, Applied: true}},
		{400, "ExpiredTokenException", Verdict{Kind: Credentials}},
		{400, "ConditionalCheckFailedException", Verdict{Kind: Condition}},
		{400, "TransactionCanceledException", Verdict{Kind: Cancelled}},
		{400, "ResourceInUseException", Verdict{Kind: Conflict}},
		{400, "ResourceNotFoundException", Verdict{Kind: NotFound}},
		{400, "UnrecognizedClientException", Verdict{Kind: Credentials}},
		{403, "RequestTimeTooSkewed", Verdict{Kind: Credentials}},
		{403, "InvalidObjectState", Verdict{Kind: Conflict}},
		{403, "Whatever", Verdict{Kind: Denied}},
		{400, "ItemCollectionSizeLimitExceededException", Verdict{Kind: Permanent}},
		{400, "com.amazon.coral.validate#ValidationException", Verdict{Kind: Permanent}},
		{413, "", Verdict{Kind: TooLarge}},
		{400, "Exception", Verdict{Kind: Permanent}},
	} {
		require.Equal(t, c.want, Classify(c.status, c.code, ""), "%d %s", c.status, c.code)
	}
}

func TestCaseD14ReasonsTogether(t *testing.T) {
	for _, c := range []struct {
		codes     []string
		kind      Kind
		throttled int
	}{
		{[]string{"None", "TransactionConflict"}, Transient, 0},
		{[]string{"ConditionalCheckFailed", "None"}, Condition, 0},
		{[]string{"None", "ThrottlingError"}, Throttle, 1},
		{[]string{"ConditionalCheckFailed", "ThrottlingError"}, Condition, 1},
		{[]string{"ThrottlingError", "ProvisionedThroughputExceeded", ""}, Throttle, 2},
		{[]string{"ValidationError", "TransactionConflict"}, Permanent, 0},
		{[]string{"ItemCollectionSizeLimitExceeded"}, Permanent, 0},
		{nil, Transient, 0},
	} {
		var reasons []Reason
		for _, code := range c.codes {
			reasons = append(reasons, Reason{Code: code})
		}
		kind, throttled := Cancellation(reasons)
		require.Equal(t, c.kind, kind, c.codes)
		require.Equal(t, c.throttled, throttled, c.codes)
	}
	require.Equal(t, []Reason{{Code: "None"}, {Code: "ConditionalCheckFailed"}},
		ReasonsIn("Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]"))
	require.Empty(t, ReasonsIn("Transaction cancelled"))
}
