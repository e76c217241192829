package dynamodb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/activities"
)

// writesTaken answers BatchWriteItem, keeps what it took, and describes the table.
type writesTaken struct {
	t         *testing.T
	mu        sync.Mutex
	refuse    int   // requests of which half is left unprocessed
	fail      reply // answers what would be the request number failAt, from 1
	failAt    int
	describe  reply // in place of the key "id"
	described int
	sizes     []int
	order     []string // ids with their values, as taken; "-" for a deletion
}

type fakeWrite struct {
	PutRequest    *struct{ Item map[string]map[string]string } `json:",omitempty"`
	DeleteRequest *struct{ Key map[string]map[string]string }  `json:",omitempty"`
}

func (w *writesTaken) answer(operation string, body []byte) reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	if operation == "DescribeTable" {
		w.described++
		if w.describe.status != 0 {
			return w.describe
		}
		return reply{200, `{"Table":{"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}}`, ""}
	}
	var request struct{ RequestItems map[string][]fakeWrite }
	require.NoError(w.t, json.Unmarshal(body, &request))
	writes := request.RequestItems["orders"]
	w.sizes = append(w.sizes, len(writes))
	if len(w.sizes) == w.failAt {
		return w.fail
	}
	taken := len(writes)
	if w.refuse > 0 {
		w.refuse--
		taken /= 2
	}
	for _, write := range writes[:taken] {
		if write.PutRequest != nil {
			w.order = append(w.order, write.PutRequest.Item["id"]["N"]+write.PutRequest.Item["v"]["S"])
		} else {
			w.order = append(w.order, write.DeleteRequest.Key["id"]["N"]+"-")
		}
	}
	unprocessed := "{}"
	if taken < len(writes) {
		raw, err := json.Marshal(writes[taken:])
		require.NoError(w.t, err)
		unprocessed = `{"orders":` + string(raw) + `}`
	}
	return reply{200, `{"UnprocessedItems":` + unprocessed + `}`, ""}
}

func put(id, value string) string {
	return fmt.Sprintf(`{"PutRequest":{"Item":{"id":{"N":"%s"},"v":{"S":"%s"}}}}`, id, value)
}

func del(id string) string { return fmt.Sprintf(`{"DeleteRequest":{"Key":{"id":{"N":"%s"}}}}`, id) }

func batchOf(writes ...string) json.RawMessage {
	return json.RawMessage(`{"RequestItems":{"orders":[` + strings.Join(writes, ",") + `]}}`)
}

func puts(n int) (writes []string) {
	for i := range n {
		writes = append(writes, put(fmt.Sprint(i), ""))
	}
	return writes
}

func TestBatchWriteIsWhole(t *testing.T) {
	taken := &writesTaken{t: t, refuse: 3}
	got, err := against(t, &fakeDynamoDB{answer: taken.answer}).Call(t.Context(), "BatchWriteItem", batchOf(puts(60)...), 0)
	require.NoError(t, err)
	require.JSONEq(t, `{"UnprocessedItems":{},"ConsumedCapacity":[]}`, string(got))
	require.Len(t, taken.order, 60)
	slices.Sort(taken.order)
	require.Len(t, slices.Compact(taken.order), 60, "each once")
	require.Equal(t, []int{25, 13, 7, 4, 25, 10}, taken.sizes)
}

func TestBatchWriteSendsTheLastOfSeveralWritesToOneKey(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []string
		want   []string
		looks  int
	}{
		{"other spelling", []string{put("1", "a"), put("2", "b"), put("1.0", "c")}, []string{"2b", "1.0c"}, 1},
		{"put, then deleted", []string{put("1", "a"), del("1")}, []string{"1-"}, 1},
		{"deleted, then put", []string{del("1"), put("1", "a")}, []string{"1a"}, 1},
		{"the same words", []string{put("1", "a"), put("1", "b"), put("1", "a")}, []string{"1a"}, 1},
		{"one alone", []string{put("1", "a")}, []string{"1a"}, 0},
		{"a key that is none", []string{put("1", "a"), `{"PutRequest":{"Item":{"v":{"S":"x"}}}}`}, []string{"1a", "x"}, 1},
	} {
		taken := &writesTaken{t: t}
		_, err := against(t, &fakeDynamoDB{answer: taken.answer}).Call(t.Context(), "BatchWriteItem", batchOf(c.writes...), 0)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, taken.order, c.name)
		require.Equal(t, c.looks, taken.described, c.name)
	}
}

func TestBatchWriteFindsOneKeyInDifferentParts(t *testing.T) {
	taken := &writesTaken{t: t}
	db := against(t, &fakeDynamoDB{answer: taken.answer})
	writes := append(append([]string{put("30", "old")}, puts(40)...), put("0", "new"))
	_, err := db.Call(t.Context(), "BatchWriteItem", batchOf(writes...), 0)
	require.NoError(t, err)
	require.Len(t, taken.order, 40)
	require.NotContains(t, taken.order, "30old")
	require.NotContains(t, taken.order, "0")
	require.Equal(t, "0new", taken.order[39])
	require.Equal(t, []int{25, 15}, taken.sizes)

	_, err = db.Call(t.Context(), "BatchWriteItem", batchOf(puts(40)...), 0)
	require.NoError(t, err)
	require.Equal(t, 1, taken.described, "known from the last time")
}

func TestBatchWriteDropsNothingByAKeyThatHasChanged(t *testing.T) {
	taken := &writesTaken{t: t}
	db := against(t, &fakeDynamoDB{answer: taken.answer})
	_, err := db.Call(t.Context(), "BatchWriteItem", batchOf(puts(2)...), 0)
	require.NoError(t, err)
	taken.order = nil
	taken.describe = reply{200, `{"Table":{"KeySchema":[{"AttributeName":"id"},{"AttributeName":"v"}]}}`, ""} // made anew
	_, err = db.Call(t.Context(), "BatchWriteItem", batchOf(put("1", "a"), put("1", "b")), 0)
	require.NoError(t, err)
	require.Equal(t, []string{"1a", "1b"}, taken.order)
}

func TestBatchWriteWithoutLeaveToDescribeGoesByTheWords(t *testing.T) {
	taken := &writesTaken{t: t, describe: reply{400, `{"__type":"AccessDeniedException"}`, ""}}
	_, err := against(t, &fakeDynamoDB{answer: taken.answer}).Call(t.Context(), "BatchWriteItem", batchOf(put("1", "a"), put("1", "b"), put("1", "a")), 0)
	require.NoError(t, err)
	require.Equal(t, []string{"1b", "1a"}, taken.order)
}

func TestBatchWriteThatFailsTellsWhatIsApplied(t *testing.T) {
	taken := &writesTaken{t: t, failAt: 3, fail: reply{400, `{"__type":"ValidationException","message":"Item size has exceeded"}`, ""}}
	_, err := against(t, &fakeDynamoDB{answer: taken.answer}).Call(t.Context(), "BatchWriteItem", batchOf(puts(60)...), 0)
	errType, _, final := failureIn(t, err)
	require.Equal(t, activities.TypeInvalidInput, errType)
	require.True(t, final)
	require.ErrorContains(t, err, "the first 50 requests of the batch are applied")
}

// What names nothing to do is the service's to refuse, in its own words.
func TestBatchesOfNothingReachTheService(t *testing.T) {
	for operation, document := range map[string]string{
		"BatchWriteItem": `{"RequestItems":{"orders":[]}}`,
		"BatchGetItem":   `{"RequestItems":{"orders":{"Keys":[]}}}`,
	} {
		fake := &fakeDynamoDB{replies: []reply{{400, `{"__type":"ValidationException","message":"at least 1"}`, ""}}}
		_, err := against(t, fake).Call(t.Context(), operation, json.RawMessage(document), 0)
		require.ErrorContains(t, err, "at least 1")
		require.Len(t, fake.sent(), 1)
	}
}

func TestBatchesOfOtherShapesAreRefused(t *testing.T) {
	fake := &fakeDynamoDB{replies: []reply{{200, `{}`, ""}}}
	for _, c := range []struct{ operation, document, want string }{
		{"BatchWriteItem", `{"RequestItems":{"orders":{}}}`, "RequestItems: not an object of lists"},
		{"BatchGetItem", `{"RequestItems":{"orders":[]}}`, "RequestItems: not an object of keys by table"},
		{"BatchGetItem", `{"RequestItems":{"orders":{"Keys":{}}}}`, "RequestItems.orders.Keys: not a list of keys"},
		{"BatchGetItem", `{"RequestItems":{"orders":{"Keys":[{}]}}}`, "RequestItems.orders.Keys[0]: not a key"},
		{"BatchGetItem", `{"RequestItems":{"orders":{"Keys":[{"a":{"S":"1"}},{"b":{"S":"1"}}]}}}`, "RequestItems.orders.Keys[1]: other attributes"},
	} {
		_, err := against(t, fake).Call(t.Context(), c.operation, json.RawMessage(c.document), 0)
		errType, details, _ := failureIn(t, err)
		require.Equal(t, activities.TypeInvalidInput, errType)
		require.ErrorContains(t, err, c.want)
		require.Equal(t, "orders", details.Target)
		require.Equal(t, "DynamoDB."+c.operation, details.Operation)
	}
	require.Empty(t, fake.sent())
}
