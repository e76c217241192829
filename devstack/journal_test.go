package main

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"
)

// TestJournalTellsWhatWasAccepted: what a fault refused is not in it, and what was done
// though its answer was lost is.
func TestJournalTellsWhatWasAccepted(t *testing.T) {
	c := connect(t)
	table, stream := c.table(t, nil, nil), c.stream(t, 1)
	c.admin(t, http.MethodPost, "/journal", nil, nil)
	t.Cleanup(func() { c.admin(t, http.MethodDelete, "/journal", nil, nil) })
	put := func(id string) error {
		_, err := c.dynamodb.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item{"id": text(id)}})
		return err
	}
	on := `{"service":"dynamodb","operation":"PutItem","target":"` + table + `","count":1,`
	require.NoError(t, put("stored"))
	c.inject(t, on+`"drop":"answer"}`)
	require.Error(t, put("answer lost"))
	c.inject(t, on+`"drop":"request"}`)
	require.Error(t, put("request lost"))

	c.inject(t, `{"service":"dynamodb","operation":"BatchWriteItem","target":"`+table+`","count":1,"entries":[{"index":1}]}`)
	var requests []dynamotypes.WriteRequest
	for _, id := range []string{"taken", "left"} {
		requests = append(requests, dynamotypes.WriteRequest{PutRequest: &dynamotypes.PutRequest{Item: item{"id": text(id)}}})
	}
	_, err := c.dynamodb.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]dynamotypes.WriteRequest{table: requests}})
	require.NoError(t, err)

	c.inject(t, `{"service":"kinesis","operation":"PutRecords","target":"`+stream+`","count":1,"entries":[{"index":0}]}`)
	_, err = c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: records(2, 3)})
	require.NoError(t, err)

	type accepted struct{ Service, Operation, Target, Key, PartitionKey string }
	var journal, ours []accepted
	c.admin(t, http.MethodGet, "/journal", nil, &journal)
	for _, a := range journal {
		if a.Target == table || a.Target == stream {
			ours = append(ours, a)
		}
	}
	require.Equal(t, []accepted{
		{"dynamodb", "PutItem", table, "stored", ""}, {"dynamodb", "PutItem", table, "answer lost", ""},
		{"dynamodb", "BatchWriteItem", table, "taken", ""}, {"kinesis", "PutRecords", stream, "xxx", "0001"},
	}, ours)
}
