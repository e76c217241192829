package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

func capacity(read, write int64) *types.ProvisionedThroughput {
	return &types.ProvisionedThroughput{ReadCapacityUnits: &read, WriteCapacityUnits: &write}
}

// table makes one with the string key "id" and, by name, global indexes on string
// attributes that are called like them.
func (c *clients) table(t *testing.T, throughput *types.ProvisionedThroughput, indexes map[string]*types.ProvisionedThroughput) string {
	t.Helper()
	in := &dynamodb.CreateTableInput{TableName: aws.String(name(t)), ProvisionedThroughput: throughput}
	if throughput == nil {
		in.BillingMode = types.BillingModePayPerRequest
	}
	attribute := func(name string) []types.KeySchemaElement {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS})
		return []types.KeySchemaElement{{AttributeName: &name, KeyType: types.KeyTypeHash}}
	}
	in.KeySchema = attribute("id")
	for index, throughput := range indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: aws.String(index), KeySchema: attribute(index),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}, ProvisionedThroughput: throughput})
	}
	_, err := c.dynamodb.CreateTable(t.Context(), in)
	require.NoError(t, err)
	eventually(t, func(ctx context.Context) error {
		out, err := c.dynamodb.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: in.TableName})
		if err == nil && out.Table.TableStatus != types.TableStatusActive {
			return errors.New(string(out.Table.TableStatus))
		}
		return err
	})
	return *in.TableName
}

func (c *clients) put(t *testing.T, table string, i item) (*types.ConsumedCapacity, error) {
	t.Helper()
	out, err := c.dynamodb.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: i, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
	if err != nil {
		return nil, err
	}
	return out.ConsumedCapacity, nil
}

func TestProvisionedThroughputIsEnforced(t *testing.T) {
	c := connect(t)
	table := c.table(t, capacity(5, 1), nil)
	var throttled *types.ProvisionedThroughputExceededException
	began, stored := time.Now(), 0
	for i := range 30 {
		_, err := c.put(t, table, item{"id": text(fmt.Sprint(i))})
		if err == nil {
			stored++
			continue
		}
		require.ErrorAs(t, err, &throttled)
	}
	// One second's burst, and what came back meanwhile.
	require.LessOrEqual(t, float64(stored), 2+time.Since(began).Seconds())
	require.Positive(t, stored)
	require.NotNil(t, throttled)

	// A read is charged what it cost: 40 KiB, consistently, are ten units.
	table = c.table(t, capacity(1, 50), nil)
	_, err := c.put(t, table, item{"id": text("big"), "data": text(strings.Repeat("x", 39_000))})
	require.NoError(t, err)
	get := func() error {
		_, err := c.dynamodb.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: item{"id": text("big")}, ConsistentRead: aws.Bool(true)})
		return err
	}
	require.NoError(t, get())
	require.ErrorAs(t, get(), &throttled, "nine units are owed")
}

func TestAHotKeyIsRefusedByName(t *testing.T) {
	c := connect(t)
	table := c.table(t, capacity(1000, 1000), nil)
	c.admin(t, http.MethodPut, "/limits", json.RawMessage(`{"dynamodb":{"keys":{"`+table+`":{"write":1,"read":1}}}}`), nil)
	for i := range 20 {
		_, err := c.put(t, table, item{"id": text(fmt.Sprint(i))})
		require.NoError(t, err, "every key has its own")
	}
	var refused *types.ThrottlingException
	for range 3 {
		if _, err := c.put(t, table, item{"id": text("0")}); err != nil {
			require.ErrorAs(t, err, &refused)
		}
	}
	require.NotNil(t, refused)
	require.Equal(t, "TableWriteKeyRangeThroughputExceeded", aws.ToString(refused.ThrottlingReasons[0].Reason))
	require.Contains(t, aws.ToString(refused.ThrottlingReasons[0].Resource), "table/"+table)
	_, err := c.put(t, table, item{"id": text("another")})
	require.NoError(t, err)
}

func TestOnDemandTableHasNoLimit(t *testing.T) {
	c := connect(t)
	table := c.table(t, nil, nil)
	for i := range 100 {
		_, err := c.put(t, table, item{"id": text(fmt.Sprint(i))})
		require.NoError(t, err)
	}
}

func TestBatchesLeaveUnprocessedWhatFindsNoRoom(t *testing.T) {
	c := connect(t)
	table := c.table(t, capacity(3, 10), nil)
	var requests []types.WriteRequest
	var keys []item
	for i := range 20 {
		key := item{"id": text(fmt.Sprint(i))}
		keys = append(keys, key)
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: key}})
	}
	written, err := c.dynamodb.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: requests}})
	require.NoError(t, err)
	require.InDelta(t, 10, len(written.UnprocessedItems[table]), 2)
	require.Nil(t, written.ConsumedCapacity, "not asked for")

	left := written.UnprocessedItems
	for len(left) > 0 {
		out, err := c.dynamodb.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: left})
		if err != nil {
			var throttled *types.ProvisionedThroughputExceededException
			require.ErrorAs(t, err, &throttled, "nothing at all had room")
			time.Sleep(100 * time.Millisecond)
			continue
		}
		left = out.UnprocessedItems
	}
	read, err := c.dynamodb.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		RequestItems: map[string]types.KeysAndAttributes{table: {Keys: keys, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("id")}}})
	require.NoError(t, err)
	require.InDelta(t, 3, len(read.Responses[table]), 2)
	require.Len(t, read.UnprocessedKeys[table].Keys, 20-len(read.Responses[table]))
	require.True(t, *read.UnprocessedKeys[table].ConsistentRead)
	require.Equal(t, "id", *read.UnprocessedKeys[table].ProjectionExpression)
	require.Len(t, read.ConsumedCapacity, 1)
	require.Equal(t, float64(len(read.Responses[table])), *read.ConsumedCapacity[0].CapacityUnits)
}

func TestIndexesPayTheirShare(t *testing.T) {
	c := connect(t)
	table := c.table(t, capacity(100, 100), map[string]*types.ProvisionedThroughput{"wide": capacity(100, 100), "narrow": capacity(100, 1)})
	used, err := c.put(t, table, item{"id": text("1"), "wide": text("a"), "narrow": text("b")})
	require.NoError(t, err)
	require.Equal(t, 3.0, *used.CapacityUnits)
	require.Equal(t, 1.0, *used.GlobalSecondaryIndexes["narrow"].CapacityUnits)
	big := item{"id": text("1"), "wide": text("a"), "narrow": text("c"), "data": text(strings.Repeat("x", 10_000))}
	eventually(t, func(context.Context) error { used, err = c.put(t, table, big); return err })
	require.Equal(t, 10.0, *used.GlobalSecondaryIndexes["wide"].CapacityUnits, "all attributes are projected")
	require.Equal(t, 11.0, *used.GlobalSecondaryIndexes["narrow"].CapacityUnits, "the old entry goes, the new one comes")

	_, err = c.put(t, table, item{"id": text("2"), "narrow": text("b")})
	var throttled *types.ProvisionedThroughputExceededException
	require.ErrorAs(t, err, &throttled, "a slow index throttles its table")
	_, err = c.put(t, table, item{"id": text("2"), "wide": text("b")})
	require.NoError(t, err, "but not a write that does not touch it")

	update := func(id, expression string) (*dynamodb.UpdateItemOutput, error) {
		return c.dynamodb.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: item{"id": text(id)}, UpdateExpression: &expression,
			ExpressionAttributeValues: item{":v": text("z")}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	}
	out, err := update("2", "SET wide = :v")
	require.NoError(t, err)
	require.Equal(t, 3.0, *out.ConsumedCapacity.CapacityUnits)
	require.Nil(t, out.ConsumedCapacity.Table, "only the total was asked for")
}

func TestReadsPayWhatTheyRead(t *testing.T) {
	c := connect(t)
	table := c.table(t, capacity(100, 100), map[string]*types.ProvisionedThroughput{"group": capacity(1, 100)})
	for i := range 20 {
		_, err := c.put(t, table, item{"id": text(fmt.Sprint(i)), "group": text("g"), "data": text(strings.Repeat("x", 2000))})
		require.NoError(t, err)
	}
	query := func() (*dynamodb.QueryOutput, error) {
		return c.dynamodb.Query(t.Context(), &dynamodb.QueryInput{TableName: &table, IndexName: aws.String("group"), ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
			KeyConditionExpression: aws.String("#g = :g"), ExpressionAttributeNames: map[string]string{"#g": "group"}, ExpressionAttributeValues: item{":g": text("g")}})
	}
	out, err := query()
	require.NoError(t, err)
	require.Equal(t, 5.0, *out.ConsumedCapacity.GlobalSecondaryIndexes["group"].CapacityUnits, "40 KB, eventually consistent")
	_, err = query()
	var throttled *types.ProvisionedThroughputExceededException
	require.ErrorAs(t, err, &throttled, "the index owes four units")

	page, err := c.dynamodb.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table, Limit: aws.Int32(8), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	require.NoError(t, err, "the table has not")
	require.Equal(t, 4.0, *page.ConsumedCapacity.CapacityUnits, "a page is rounded as a whole")
	var counters map[string]map[string]map[string]struct{ Consumed float64 }
	c.admin(t, http.MethodGet, "/counters", nil, &counters)
	require.Equal(t, 5.0, counters["dynamodb"]["read"][table+"/group"].Consumed)
	require.Equal(t, 4.0, counters["dynamodb"]["read"][table].Consumed)
}

func TestFailedConditionShowsTheOldItem(t *testing.T) {
	c := connect(t)
	table := c.table(t, capacity(10, 10), nil)
	_, err := c.put(t, table, item{"id": text("1"), "n": number(7)})
	require.NoError(t, err)
	_, err = c.dynamodb.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: item{"id": text("1")},
		UpdateExpression: aws.String("SET n = :n"), ConditionExpression: aws.String("n < :n"), ExpressionAttributeValues: item{":n": number(5)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	var failed *types.ConditionalCheckFailedException
	require.ErrorAs(t, err, &failed)
	require.Equal(t, item{"id": text("1"), "n": number(7)}, failed.Item)
}

func TestTransactions(t *testing.T) {
	c := connect(t)
	table := c.table(t, nil, nil)
	other := c.table(t, nil, nil)
	put := func(table, id string, condition *string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: item{"id": text(id), "n": number(1)}, ConditionExpression: condition,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}}
	}
	absent := aws.String("attribute_not_exists(id)")
	write := func(token *string, items ...types.TransactWriteItem) (*dynamodb.TransactWriteItemsOutput, error) {
		return c.dynamodb.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items, ClientRequestToken: token,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	}
	count := func() int {
		out, err := c.dynamodb.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		require.NoError(t, err)
		return int(out.Count)
	}

	out, err := write(nil, put(table, "1", absent), put(table, "2", absent), put(other, "1", nil))
	require.NoError(t, err)
	require.Len(t, out.ConsumedCapacity, 2)
	require.Equal(t, 6.0, *out.ConsumedCapacity[0].CapacityUnits+*out.ConsumedCapacity[1].CapacityUnits)

	_, err = write(nil, put(table, "3", absent), put(table, "1", absent))
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, err, &cancelled)
	require.Equal(t, "None", *cancelled.CancellationReasons[0].Code)
	require.Equal(t, "ConditionalCheckFailed", *cancelled.CancellationReasons[1].Code)
	require.Equal(t, item{"id": text("1"), "n": number(1)}, cancelled.CancellationReasons[1].Item)
	require.Equal(t, 2, count(), "all or nothing")

	token := aws.String(name(t))
	add := types.TransactWriteItem{Update: &types.Update{TableName: &table, Key: item{"id": text("1")}, UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: item{":one": number(1)}}}
	for range 3 {
		_, err = write(token, add)
		require.NoError(t, err)
	}
	_, err = write(token, put(table, "9", nil))
	var mismatch *types.IdempotentParameterMismatchException
	require.ErrorAs(t, err, &mismatch)

	_, err = write(nil, add, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: item{"id": text("absent")}, ConditionExpression: aws.String("attribute_exists(id)")}})
	require.ErrorAs(t, err, &cancelled)
	_, err = write(nil, types.TransactWriteItem{Update: &types.Update{TableName: &table, Key: item{"id": text("1")}, UpdateExpression: aws.String("ADD id :one"), ExpressionAttributeValues: item{":one": number(1)}}})
	require.ErrorContains(t, err, "ValidationException")
	_, err = write(nil, add, add)
	require.ErrorContains(t, err, "multiple operations on one item")

	read, err := c.dynamodb.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: &table, Key: item{"id": text("1")}}}, {Get: &types.Get{TableName: &table, Key: item{"id": text("absent")}}}}})
	require.NoError(t, err)
	require.Equal(t, item{"id": text("1"), "n": number(2)}, read.Responses[0].Item)
	require.Empty(t, read.Responses[1].Item)

	tables, err := c.dynamodb.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	require.NoError(t, err)
	for _, listed := range tables.TableNames {
		require.NotContains(t, listed, "shadow")
	}
}

func TestThrottledTransactionIsCancelledWithReasons(t *testing.T) {
	c := connect(t)
	table := c.table(t, capacity(5, 3), nil)
	var items []types.TransactWriteItem
	for i := range 3 {
		items = append(items, types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: item{"id": text(fmt.Sprint(i))}}})
	}
	_, err := c.dynamodb.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items})
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, err, &cancelled)
	require.Equal(t, "None", *cancelled.CancellationReasons[0].Code)
	require.Equal(t, "ProvisionedThroughputExceeded", *cancelled.CancellationReasons[2].Code)
	_, err = c.put(t, table, item{"id": text("1")})
	require.NoError(t, err, "what was held is given back")
}
