package dynamodb

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/internal/errortype"
)

// keyed is a table of items by id for BatchGetItem replies.
func batchGet(ids ...int) json.RawMessage {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = fmt.Sprintf(`{"id":{"N":"%d"}}`, id)
	}
	return json.RawMessage(`{"RequestItems":{"orders":{"Keys":[` + strings.Join(keys, ",") + `]}}}`)
}

// idsOf reads the ids of keys or items.
func idsOf(t *testing.T, raw []json.RawMessage) (ids []int) {
	t.Helper()
	for _, r := range raw {
		var item map[string]map[string]string
		require.NoError(t, json.Unmarshal(r, &item))
		n, err := strconv.ParseFloat(item["id"]["N"], 64)
		require.NoError(t, err)
		ids = append(ids, int(n))
	}
	return ids
}

// partialReads answers BatchGetItem for so many keys of each request; ids from 90
// on do not exist. It answers backwards, as the service promises no order.
type partialReads struct {
	t     *testing.T
	mu    sync.Mutex
	sizes []int // keys processed, by request; the last for ever
	asked [][]int
}

func (p *partialReads) answer(_ string, body []byte) reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	var request struct {
		RequestItems map[string]struct{ Keys []json.RawMessage }
	}
	require.NoError(p.t, json.Unmarshal(body, &request))
	keys := request.RequestItems["orders"].Keys
	ids := idsOf(p.t, keys)
	p.asked = append(p.asked, ids)
	n := min(p.sizes[0], len(keys))
	if len(p.sizes) > 1 {
		p.sizes = p.sizes[1:]
	}
	items := []string{}
	for i := n - 1; i >= 0; i-- {
		if ids[i] < 90 {
			items = append(items, fmt.Sprintf(`{"id":{"N":"%d"},"v":{"S":"<%d>"}}`, ids[i], ids[i]))
		}
	}
	left := `{}`
	if n < len(keys) {
		raw, _ := json.Marshal(keys[n:])
		left = `{"orders":{"Keys":` + string(raw) + `}}`
	}
	return reply{200, `{"Responses":{"orders":[` + strings.Join(items, ",") + `]},"UnprocessedKeys":` + left +
		fmt.Sprintf(`,"ConsumedCapacity":[{"TableName":"orders","CapacityUnits":%g}]}`, float64(n)/2), ""}
}

func upTo(n int) (ids []int) {
	for i := range n {
		ids = append(ids, i)
	}
	return ids
}

func TestCaseD02UnprocessedIsNotAbsent(t *testing.T) {
	reads := &partialReads{t: t, sizes: []int{0, 0, 60, 40}}
	db := against(t, &fakeDynamoDB{answer: reads.answer})
	got, err := db.Call(t.Context(), "BatchGetItem", batchGet(upTo(100)...), 0)
	require.NoError(t, err)
	var answer struct {
		Responses        map[string][]json.RawMessage
		UnprocessedKeys  map[string]any
		ConsumedCapacity []struct{ CapacityUnits float64 }
	}
	require.NoError(t, json.Unmarshal(got, &answer))
	require.Equal(t, upTo(90), idsOf(t, answer.Responses["orders"]), "90 found, in the order asked; 10 absent")
	require.Empty(t, answer.UnprocessedKeys)
	require.Equal(t, 50.0, answer.ConsumedCapacity[0].CapacityUnits, "charged once each")
	require.Len(t, reads.asked, 4)
}

func TestCaseD02PermanentThrottlingIsAnError(t *testing.T) {
	reads := &partialReads{t: t, sizes: []int{0}}
	db := against(t, &fakeDynamoDB{answer: reads.answer})
	_, err := db.Call(t.Context(), "BatchGetItem", batchGet(upTo(100)...), 0)
	errType, _, final := failureIn(t, err)
	require.Equal(t, activities.TypeThrottled, errType)
	require.False(t, final)
}

func TestBatchGetSplitsAndKeepsOrderAndRepetitions(t *testing.T) {
	reads := &partialReads{t: t, sizes: []int{1000}}
	db := against(t, &fakeDynamoDB{answer: reads.answer})
	ids := append([]int{7, 3, 7}, upTo(205)...)
	document := strings.Replace(string(batchGet(ids...)), `{"N":"3"}`, `{"N":"3.00"}`, 1)
	got, err := db.Call(t.Context(), "BatchGetItem", json.RawMessage(document), 0)
	require.NoError(t, err)
	var answer struct{ Responses map[string][]json.RawMessage }
	require.NoError(t, json.Unmarshal(got, &answer))
	require.Equal(t, append([]int{7, 3, 7}, upTo(90)...), idsOf(t, answer.Responses["orders"]))
	require.Len(t, reads.asked, 3)
	require.Len(t, reads.asked[0], 100)
	require.Len(t, reads.asked[2], 5)
}

func TestBatchGetTellsItemsApartWithoutTheirKey(t *testing.T) {
	fake := &fakeDynamoDB{answer: func(_ string, body []byte) reply {
		require.Contains(t, string(body), `"ProjectionExpression":"#v, #sluiceKey0"`)
		require.Contains(t, string(body), `"#sluiceKey0":"id"`)
		return reply{200, `{"Responses":{"orders":[{"id":{"S":"b"},"v":{"S":"B"}},{"id":{"S":"a"},"v":{"S":"A"}}]}}`, ""}
	}}
	got, err := against(t, fake).Call(t.Context(), "BatchGetItem", json.RawMessage(`{"RequestItems":{"orders":{"Keys":[{"id":{"S":"a"}},{"id":{"S":"b"}}],
		"ProjectionExpression":"#v","ExpressionAttributeNames":{"#v":"v"}}}}`), 0)
	require.NoError(t, err)
	require.Contains(t, string(got), `"Responses":{"orders":[{"v":{"S":"A"}},{"v":{"S":"B"}}]}`)
}

func TestCaseD14CancelledTransactionsByTheirReasons(t *testing.T) {
	cancelled := func(reasons string) reply {
		return reply{400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"Transaction cancelled","CancellationReasons":` + reasons + `}`, ""}
	}
	done := reply{200, `{}`, ""}
	document := json.RawMessage(`{"ClientRequestToken":"t","TransactItems":[{"Put":{"TableName":"orders","Item":{}}},{"Put":{"TableName":"orders","Item":{}}}]}`)
	for _, c := range []struct {
		name    string
		replies []reply
		errType string
		sent    int
	}{
		{"conflict, then done", []reply{cancelled(`[{"Code":"None"},{"Code":"TransactionConflict"}]`), done}, "", 2},
		{"condition", []reply{cancelled(`[{"Code":"ConditionalCheckFailed","Message":"m"},{"Code":"None"}]`)}, activities.TypeConditionFailed, 1},
		{"throttled, then done", []reply{cancelled(`[{"Code":"None"},{"Code":"ThrottlingError"}]`), done}, "", 2},
		{"condition beside throttle", []reply{cancelled(`[{"Code":"ConditionalCheckFailed"},{"Code":"ThrottlingError"}]`)}, activities.TypeConditionFailed, 1},
		{"no reason, then done", []reply{cancelled(`[]`), done}, "", 2},
		{"wrong item", []reply{cancelled(`[{"Code":"None"},{"Code":"ValidationError"}]`)}, activities.TypeInvalidInput, 1},
		{"in progress, then done", []reply{{400, `{"__type":"TransactionInProgressException"}`, ""}, done}, "", 2},
		{"throttled for ever", []reply{cancelled(`[{"Code":"None"},{"Code":"ThrottlingError"}]`)}, activities.TypeThrottled, repeatsHere + 1},
	} {
		fake := &fakeDynamoDB{replies: c.replies}
		_, err := against(t, fake).Call(t.Context(), "TransactWriteItems", document, 0)
		require.Len(t, fake.sent(), c.sent, c.name)
		if c.errType == "" {
			require.NoError(t, err, c.name)
			continue
		}
		errType, details, _ := failureIn(t, err)
		require.Equal(t, c.errType, errType, c.name)
		if errType == activities.TypeConditionFailed {
			require.Contains(t, string(details.Reasons), "ConditionalCheckFailed", "by position")
		}
	}
}

func TestCaseD16SpellingsOfSlowDown(t *testing.T) {
	put := `{"TableName":"orders","Item":{"id":{"S":"1"}}}`
	for _, c := range []struct {
		operation, document string
		reply               reply
		errType             string
		sent                int
	}{
		{"PutItem", put, reply{400, `{"__type":"ProvisionedThroughputExceeded"}`, ""}, activities.TypeThrottled, 4},
		{"PutItem", put, reply{400, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow"}`, ""}, activities.TypeThrottled, 4},
		{"PutItem", put, reply{400, `{"__type":"com.amazon.coral.availability#ThrottlingException"}`, ""}, activities.TypeThrottled, 4},
		{"PutItem", put, reply{400, `{"__type":"com.amazonaws.dynamodb.v20120810#RequestLimitExceeded"}`, ""}, activities.TypeThrottled, 4},
		{"CreateTable", `{"TableName":"orders"}`, reply{400, `{"__type":"LimitExceededException"}`, ""}, activities.TypeThrottled, 4},
		{"PutItem", put, reply{500, `{"__type":"InternalServerError"}`, ""}, activities.TypeUnavailable, 4},
		{"PutItem", put, reply{400, `{"__type":"ReplicatedWriteConflictException"}`, ""}, activities.TypeUnavailable, 4},
		{"PutItem", put, reply{503, `<html>busy</html>`, ""}, activities.TypeUnavailable, 4},
		{"PutItem", put, reply{0, ``, ""}, activities.TypeUnavailable, 4},
		{"PutItem", put, reply{400, `{"__type":"ItemCollectionSizeLimitExceededException"}`, ""}, activities.TypeInvalidInput, 1},
		{"PutItem", put, reply{400, `{"__type":"com.amazon.coral.validate#ValidationException"}`, ""}, activities.TypeInvalidInput, 1},
		{"PutItem", put, reply{418, `{"__type":"Teapot"}`, ""}, activities.TypeInvalidInput, 1},
		{"PutItem", put, reply{400, `{"__type":"ResourceNotFoundException"}`, ""}, activities.TypeNotFound, 1},
		{"PutItem", put, reply{400, `{"__type":"AccessDeniedException"}`, ""}, activities.TypeAccessDenied, 1},
		{"PutItem", put, reply{400, `{"__type":"ExpiredTokenException"}`, ""}, activities.TypeUnavailable, 4},
		{"CreateTable", `{"TableName":"orders"}`, reply{400, `{"__type":"ResourceInUseException"}`, ""}, activities.TypeConflict, 1},
	} {
		fake := &fakeDynamoDB{replies: []reply{c.reply}}
		_, err := against(t, fake).Call(t.Context(), c.operation, json.RawMessage(c.document), 0)
		errType, details, _ := failureIn(t, err)
		require.Equal(t, c.errType, errType, c.reply.body)
		require.Len(t, fake.sent(), c.sent, c.reply.body)
		require.Equal(t, "DynamoDB."+c.operation, details.Operation)
		require.Equal(t, "orders", details.Target)
	}
}

func TestWritesThatMustNotBeRepeatedAreNot(t *testing.T) {
	update := `{"TableName":"orders","Key":{},"UpdateExpression":"ADD n :one"}`
	conditional := `{"TableName":"orders","Item":{},"ConditionExpression":"attribute_not_exists(id)"}`
	for _, c := range []struct {
		operation, document string
		reply               reply
		errType             string
		sent                int
	}{
		{"UpdateItem", update, reply{500, `{"__type":"InternalServerError"}`, ""}, activities.TypeAmbiguous, 1},
		{"UpdateItem", update, reply{503, ``, ""}, activities.TypeAmbiguous, 1},
		{"UpdateItem", update, reply{0, ``, ""}, activities.TypeAmbiguous, 1},
		{"UpdateItem", update, reply{200, `not JSON`, ""}, activities.TypeAmbiguous, 1},
		{"PutItem", conditional, reply{0, ``, ""}, activities.TypeAmbiguous, 1},
		{"PutItem", `{"TableName":"orders","Item":{},"ReturnValues":"ALL_OLD"}`, reply{0, ``, ""}, activities.TypeAmbiguous, 1},
		{"DeleteItem", `{"TableName":"orders","Key":{},"Expected":{}}`, reply{0, ``, ""}, activities.TypeAmbiguous, 1},
		{"CreateTable", `{"TableName":"orders"}`, reply{0, ``, ""}, activities.TypeAmbiguous, 1},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"orders","Item":{}}}]}`, reply{0, ``, ""}, activities.TypeAmbiguous, 1},
		{"UpdateItem", update, reply{400, `{"__type":"ThrottlingException"}`, ""}, activities.TypeThrottled, 4},
		{"UpdateItem", update, reply{400, `{"__type":"TransactionConflictException"}`, ""}, activities.TypeUnavailable, 4},
		{"PutItem", conditional, reply{400, `{"__type":"ConditionalCheckFailedException","Item":{"id":{"S":"x"}}}`, ""}, activities.TypeConditionFailed, 1},
		{"DeleteItem", `{"TableName":"orders","Key":{}}`, reply{0, ``, ""}, activities.TypeUnavailable, 4},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"orders","Item":{}}}],"ClientRequestToken":"t"}`, reply{0, ``, ""}, activities.TypeUnavailable, 4},
	} {
		fake := &fakeDynamoDB{replies: []reply{c.reply}}
		_, err := against(t, fake).Call(t.Context(), c.operation, json.RawMessage(c.document), 0)
		errType, details, final := failureIn(t, err)
		require.Equal(t, c.errType, errType, "%s %s", c.operation, c.reply.body)
		require.Equal(t, !errortype.Retryable(errType), final)
		require.Len(t, fake.sent(), c.sent, "%s %s", c.document, c.reply.body)
		if errType == activities.TypeConditionFailed {
			require.JSONEq(t, `{"id":{"S":"x"}}`, string(details.Item))
		}
	}
}
