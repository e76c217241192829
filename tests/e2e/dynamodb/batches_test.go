package dynamodb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/tests/harness"
)

// batchWrite is a BatchWriteItem of these requests.
func batchWrite(table string, requests []string) string {
	return `{"RequestItems":{"` + table + `":[` + strings.Join(requests, ",") + `]}}`
}

func put(id, value string) string {
	return fmt.Sprintf(`{"PutRequest":{"Item":{"id":{"S":"%s"},"v":{"S":"%s"}}}}`, id, value)
}

// Batches beyond the service's limits, on a table that gives less than it says: all
// is written, the last of several writes to one key as the last; all is read, in
// order, as often as asked for; over two tables, each charged to its own.
func TestCaseD02BatchesAreWholeUnderThrottles(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name, other := s.NewTable(harness.Table{Read: 200, Write: 200}), s.NewTable(harness.Table{Read: 200, Write: 200})
	s.Guard.SetLimits(t, harness.Limits{DynamoDB: &harness.DynamoDBLimits{Tables: map[string]harness.TableLimits{name: {Read: 40, Write: 40}}}})
	s.StartWorker()
	call := caller(t, s)

	requests := []string{put("70", "old")}
	for i := range 80 {
		requests = append(requests, put(fmt.Sprint(i), "new"))
	}
	requests = append(requests, put("3", "last"), `{"DeleteRequest":{"Key":{"id":{"S":"79"}}}}`)
	outputs(t, call("BatchWriteItem", 0, batchWrite(name, requests), batchWrite(other, []string{put("x", "other")})))
	c := s.Guard.Counters(t).Sum(harness.DynamoDB, "BatchWriteItem", name)
	require.GreaterOrEqual(t, c.Records, 80)
	require.Positive(t, c.RecordsRefused+c.Throttled, "it was throttled")

	var keys, want []string
	for i := range 130 {
		keys = append(keys, fmt.Sprintf(`{"id":{"S":"%d"}}`, i))
		switch {
		case i == 3:
			want = append(want, "3 last")
		case i < 79:
			want = append(want, fmt.Sprint(i, " new"))
		}
	}
	keys, want = append(keys, keys[5]), append(want, "5 new")
	got := outputs(t, call("BatchGetItem", 0, `{"RequestItems":{"`+name+`":{"ConsistentRead":true,"Keys":[`+strings.Join(keys, ",")+`]},"`+
		other+`":{"Keys":[{"id":{"S":"x"}}]}}}`))
	var answer struct {
		Responses        map[string][]map[string]map[string]string
		UnprocessedKeys  map[string]any
		ConsumedCapacity []struct {
			TableName     string
			CapacityUnits float64
		}
	}
	require.NoError(t, json.Unmarshal(got[0], &answer))
	var read []string
	for _, item := range answer.Responses[name] {
		read = append(read, item["id"]["S"]+" "+item["v"]["S"])
	}
	require.Equal(t, want, read)
	require.Len(t, answer.Responses[other], 1)
	require.Empty(t, answer.UnprocessedKeys)
	consumed := 0.0
	for _, c := range answer.ConsumedCapacity {
		consumed += c.CapacityUnits
	}
	require.Positive(t, consumed)
	require.LessOrEqual(t, consumed, 130.5, "each key once")
	for _, table := range []string{name, other} {
		st, err := status(t.Context(), s, table, "read")
		require.NoError(t, err)
		require.Equal(t, 200.0, st.Provisioned.Float(), "each table has its own budget")
	}
}

// A batch goes on from what was written when its worker stops.
func TestABatchGoesOnAtAnotherWorker(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 20, Write: 20})
	first := s.StartWorker()
	var requests []string
	for i := range 100 {
		requests = append(requests, put(fmt.Sprint(i), "v"))
	}
	run := caller(t, s)("BatchWriteItem", 0, batchWrite(name, requests))
	written := func() int { return s.Guard.Counters(t).Sum(harness.DynamoDB, "BatchWriteItem", name).Records }
	harness.Await(t, "a part is written", func(context.Context) error {
		if written() < 25 {
			return errors.New("not yet")
		}
		return nil
	})
	first.Signal(syscall.SIGTERM)
	s.StartWorker()
	outputs(t, run)
	require.GreaterOrEqual(t, written(), 100)
	require.LessOrEqual(t, written(), 150, "a part may be written twice, all of it is not")
}

// A page of less than a mebibyte in the service's bytes may take more than a
// payload as JSON; it is cut, and whoever goes on from its last key sees all.
func TestPagesBeyondAPayloadAreCut(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 1000, Write: 1000})
	const items = 8
	value := strings.Repeat("\x01", 60_000) // 360 KB as JSON
	for i := range items {
		_, err := s.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: fmt.Sprint(i)}, "value": &types.AttributeValueMemberS{Value: value},
		}})
		require.NoError(t, err)
	}
	s.StartWorker()
	call := caller(t, s)
	for _, more := range []string{"", `,"Limit":7`, `,"FilterExpression":"attribute_exists(id)"`} {
		seen, pages := map[string]int{}, 0
		for start := ""; ; pages++ {
			require.Less(t, pages, items, "it ends")
			got := outputs(t, call("Scan", 0, `{"TableName":"`+name+`"`+more+start+`}`))
			var page struct {
				Items []struct{ ID struct{ S string } }
				Count int
				Last  json.RawMessage `json:"LastEvaluatedKey"`
			}
			require.NoError(t, json.Unmarshal(got[0], &page))
			require.Len(t, page.Items, page.Count)
			for _, item := range page.Items {
				seen[item.ID.S]++
			}
			if len(page.Last) == 0 {
				break
			}
			start = `,"ExclusiveStartKey":` + string(page.Last)
		}
		require.Positive(t, pages, "more than one")
		require.Len(t, seen, items)
		for id, times := range seen {
			require.Equal(t, 1, times, id)
		}
	}
}

// What is wrong is refused at once, by the service or by us, and never repeated.
func TestWhatIsWrongIsRefusedAtOnce(t *testing.T) {
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 1000, Write: 1000})
	s.StartWorker()
	call := caller(t, s)
	for _, c := range []struct {
		operation, document, errType string
		sent                         int
	}{
		{"PutItem", `{"TableName":"` + name + `","Item":{"id":{"S":"1"},"v":{"S":"` + strings.Repeat("x", 410_000) + `"}}}`, "InvalidInput", 1},
		{"UpdateItem", `{"TableName":"` + name + `","Key":{"id":{"S":"1"}},"UpdateExpression":"SETT n = :n"}`, "InvalidInput", 1},
		{"Query", `{"TableName":"` + name + `"}`, "InvalidInput", 1},
		{"BatchWriteItem", `{"RequestItems":{"` + name + `":[]}}`, "InvalidInput", 1},
		{"DeleteItem", `{"Key":{"id":{"S":"1"}}}`, "InvalidInput", 0},
		{"GetItem", `["` + name + `"]`, "InvalidInput", 0},
	} {
		err := call(c.operation, 0, c.document).Get(t.Context(), nil)
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application, c.operation)
		require.Equal(t, c.errType, application.Type(), c.operation)
		require.True(t, application.NonRetryable(), c.operation)
		require.Contains(t, application.Message(), "DynamoDB."+c.operation)
		require.Equal(t, c.sent, s.Guard.Counters(t).Sum(harness.DynamoDB, c.operation, name).Calls, c.operation)
	}
	var application *temporal.ApplicationError
	require.ErrorAs(t, call("GetItem", 0, `{"TableName":"no-such-table","Key":{"id":{"S":"1"}}}`).Get(t.Context(), nil), &application)
	require.Equal(t, "NotFound", application.Type())
}
