package throughput

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhichKeyACallIsFor(t *testing.T) {
	for _, c := range []struct {
		name, operation, document string
		want                      bool
	}{
		{"a put", "PutItem", `{"TableName":"t","Item":{"id":{"S":"hot"},"n":{"N":"1"}}}`, true},
		{"an update", "UpdateItem", `{"TableName":"t","Key":{"id":{"S":"hot"},"r":{"N":"1"}}}`, true},
		{"a read", "GetItem", `{"TableName":"t","Key":{ "id" : {"S":"hot"} }}`, true},
		{"a query", "Query", `{"TableName":"t","KeyConditionExpression":"id = :v","ExpressionAttributeValues":{":v":{"S":"hot"}}}`, true},
		{"a query with a range", "Query", `{"TableName":"t","KeyConditionExpression":"(#k=:v) and r BETWEEN :a AND :b",
			"ExpressionAttributeNames":{"#k":"id"},"ExpressionAttributeValues":{":v":{"S":"hot"},":a":{"N":"1"},":b":{"N":"2"}}}`, true},
		{"a query the other way round", "Query", `{"TableName":"t","KeyConditionExpression":":v = id","ExpressionAttributeValues":{":v":{"S":"hot"}}}`, true},
		{"a query by another key", "Query", `{"TableName":"t","KeyConditionExpression":"other = :v","ExpressionAttributeValues":{":v":{"S":"hot"}}}`, false},
		{"a scan", "Scan", `{"TableName":"t"}`, false},
		{"a batch", "BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"id":{"S":"hot"}}]}}}`, false},
		{"a transaction", "TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t","Item":{"id":{"S":"hot"}}}}]}`, false},
		{"no key at all", "PutItem", `{"TableName":"t","Item":{"n":{"N":"1"}}}`, false},
		{"what is no item", "PutItem", `{"TableName":"t","Item":[]}`, false},
	} {
		r, err := ParseRequest(c.operation, []byte(c.document))
		require.NoError(t, err, c.name)
		got, ok := r.Partition("id")
		require.Equal(t, c.want, ok, c.name)
		if ok {
			require.Equal(t, `"id"S"hot"`, got, c.name)
		}
	}
}
