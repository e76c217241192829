package throughput

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestResourceNames(t *testing.T) {
	for name, want := range map[string]Resource{
		"dynamodb/eu-west-1/orders/read":                     {Place: "eu-west-1", Table: "orders", Direction: Read},
		"dynamodb/eu-west-1/orders/index/byDate/write":       {Place: "eu-west-1", Table: "orders", Index: "byDate", Direction: Write},
		"dynamodb/acct/eu-west-1/orders/index/by-date/write": {Place: "acct/eu-west-1", Table: "orders", Index: "by-date", Direction: Write},
		"dynamodb/eu-west-1/index/read":                      {Place: "eu-west-1", Table: "index", Direction: Read},
		"dynamodb/eu-west-1/_control/write":                  {Place: "eu-west-1", Table: "_control", Direction: Write},
	} {
		got, err := ParseResource(name)
		require.NoError(t, err, name)
		require.Equal(t, want, got)
		require.Equal(t, name, got.String())
	}
	for _, bad := range []string{"", "orders", "dynamodb/eu-west-1/orders", "dynamodb/eu-west-1/orders/both", "kinesis/eu-west-1/orders/read", "dynamodb//orders/read"} {
		_, err := ParseResource(bad)
		require.Error(t, err, bad)
	}
	rate, ok := ControlPlane("eu-west-1", Write).Control()
	require.True(t, ok)
	require.Equal(t, Unit, rate)
	_, ok = Resource{Table: "orders"}.Control()
	require.False(t, ok)
}

func TestTableName(t *testing.T) {
	require.Equal(t, "orders", TableName("orders"))
	require.Equal(t, "orders", TableName("arn:aws:dynamodb:eu-west-1:123456789012:table/orders"))
	require.Equal(t, "orders", TableName("arn:aws:dynamodb:eu-west-1:123456789012:table/orders/index/byDate"))
}

func TestRequestsTellTablesEstimatesAndWhetherTheyMayBeRepeated(t *testing.T) {
	long := strings.Repeat("x", 1500)
	for _, c := range []struct {
		operation, document string
		repeatable          bool
		charges             []Charge
	}{
		{"GetItem", `{"TableName":"orders"}`, true, []Charge{{Table: "orders", Units: 500}}},
		{"GetItem", `{"TableName":"arn:aws:dynamodb:r:1:table/orders","ConsistentRead":true}`, true, []Charge{{Table: "orders", Units: 1000}}},
		{"Query", `{"TableName":"orders","IndexName":"byDate"}`, true, []Charge{{Table: "orders", Index: "byDate", Units: 500}}},
		{"Query", `{"TableName":"orders","Limit":8,"ConsistentRead":true}`, true, []Charge{{Table: "orders", Units: 8000}}},
		{"Query", `{"TableName":"orders","Limit":9223372036854775807}`, true, []Charge{{Table: "orders", Units: 128_000}}},
		{"Scan", `{"TableName":"orders"}`, true, []Charge{{Table: "orders", Units: 128_000}}},
		{"PutItem", `{"TableName":"orders","Item":{"id":{"S":"` + long + `"}}}`, true, []Charge{{Table: "orders", Units: 2000}}},
		{"PutItem", `{"TableName":"orders","Item":{},"ConditionExpression":"a = b"}`, false, []Charge{{Table: "orders", Units: 1000}}},
		{"PutItem", `{"TableName":"orders","Item":{},"ReturnValues":"ALL_OLD"}`, false, []Charge{{Table: "orders", Units: 1000}}},
		{"PutItem", `{"TableName":"orders","Item":{},"ReturnValues":"NONE"}`, true, []Charge{{Table: "orders", Units: 1000}}},
		{"DeleteItem", `{"TableName":"orders","Key":{},"Expected":{"a":{}}}`, false, []Charge{{Table: "orders", Units: 1000}}},
		{"UpdateItem", `{"TableName":"orders","ExpressionAttributeValues":{":v":{"S":"` + long + `"}}}`, false, []Charge{{Table: "orders", Units: 2000}}},
		{"BatchGetItem", `{"RequestItems":{"b":{"Keys":[{},{}]},"a":{"Keys":[{}],"ConsistentRead":true}}}`, true,
			[]Charge{{Table: "a", Units: 1000}, {Table: "b", Units: 1000}}},
		{"BatchWriteItem", `{"RequestItems":{"a":[{"PutRequest":{"Item":{}}},{"DeleteRequest":{"Key":{}}}]}}`, true, []Charge{{Table: "a", Units: 2000}}},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"a","Item":{}}},{"Delete":{"TableName":"b"}},{"Update":{"TableName":"a"}}]}`, false,
			[]Charge{{Table: "a", Units: 4000}, {Table: "b", Units: 2000}}},
		{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"a"}}]}`, true, []Charge{{Table: "a", Units: 2000}}},
		{"GetItem", `{"TableName":"orders","ConsistentRead":"yes","Limit":"many"}`, true, []Charge{{Table: "orders", Units: 500}}},
	} {
		r, err := ParseRequest(c.operation, []byte(c.document))
		require.NoError(t, err, c.document)
		require.Equal(t, c.repeatable, r.Repeatable, c.document)
		require.Equal(t, c.charges, new(Estimates).Charges(r), c.document)
	}
}

func TestEstimatesLearn(t *testing.T) {
	var e Estimates
	put, err := ParseRequest("PutItem", []byte(`{"TableName":"orders","Item":{}}`))
	require.NoError(t, err)
	cost := []Charge{{Table: "orders", Units: 1000}, {Table: "orders", Index: "a", Units: 1000}, {Table: "orders", Index: "b", Units: 2000}}
	e.Learn(put, cost)
	require.ElementsMatch(t, cost, e.Charges(put))
	for range 50 {
		e.Learn(put, cost[:2])
	}
	require.ElementsMatch(t, cost[:2], e.Charges(put), "an index that is no longer written is forgotten")

	query, err := ParseRequest("Query", []byte(`{"TableName":"orders","IndexName":"a"}`))
	require.NoError(t, err)
	e.Learn(query, []Charge{{Table: "orders", Index: "a", Units: 3000}, {Table: "orders"}})
	require.Equal(t, []Charge{{Table: "orders", Index: "a", Units: 3000}}, e.Charges(query), "its table costs nothing")
	e.Learn(query, []Charge{{Table: "orders", Units: 1000}}) // it was a local index after all
	require.Contains(t, e.Charges(query), Charge{Table: "orders", Units: 125})
}

func TestCaseD07ConsumedCapacityInAllItsForms(t *testing.T) {
	for document, want := range map[string][]Charge{
		`{}`:                                         nil,
		`{"ConsumedCapacity":null}`:                  nil,
		`{"ConsumedCapacity":{}}`:                    nil,
		`{"ConsumedCapacity":"x"}`:                   nil,
		`{"ConsumedCapacity":[]}`:                    nil,
		`{"ConsumedCapacity":0.5}`:                   {{Table: "orders", Units: 500}},
		`{"ConsumedCapacity":{"CapacityUnits":0.5}}`: {{Table: "orders", Units: 500}},
		`{"ConsumedCapacity":{"CapacityUnits":{"CapacityUnits":1.5}}}`:                                   {{Table: "orders", Units: 1500}},
		`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":null,"Table":{"CapacityUnits":2}}}`:        {{Table: "t", Units: 2000}},
		`{"ConsumedCapacity":[{"TableName":"a","CapacityUnits":1},{"TableName":"b","CapacityUnits":2}]}`: {{Table: "a", Units: 1000}, {Table: "b", Units: 2000}},
		`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":3,"Table":{"CapacityUnits":1},"GlobalSecondaryIndexes":{"j":{"CapacityUnits":1},"i":{"CapacityUnits":1}}}}`: {
			{Table: "t", Index: "i", Units: 1000}, {Table: "t", Index: "j", Units: 1000}, {Table: "t", Units: 1000}},
		`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":2,"Table":{"CapacityUnits":1},"LocalSecondaryIndexes":{"l":{"CapacityUnits":1}}}}`: {{Table: "t", Units: 2000}},
		`not JSON`: nil,
	} {
		got, ok := Charges([]byte(document), "orders")
		require.Equal(t, want, got, document)
		require.Equal(t, want != nil, ok, document)
	}
}

func TestItemSize(t *testing.T) {
	for item, want := range map[string]Milli{
		``:                                  0,
		`[]`:                                0,
		`{}`:                                0,
		`{"id":{"S":"abc"}}`:                5,
		`{"é":{"S":"é"}}`:                   4,
		`{"n":{"N":"123"}}`:                 4,
		`{"n":{"N":"-1.50"}}`:               3 + 0,
		`{"b":{"B":"AAEC/w=="}}`:            5,
		`{"t":{"BOOL":true}}`:               2,
		`{"s":{"SS":["ab","c"]}}`:           4,
		`{"l":{"L":[{"S":"a"},{"N":"1"}]}}`: 1 + 3 + 2 + 1 + 2,
		`{"m":{"M":{"k":{"S":"v"}}}}`:       1 + 3 + 1 + 1 + 1,
	} {
		require.InDelta(t, int64(want), int64(ItemSize(json.RawMessage(item))), 1, item)
	}
}

func TestKeysThatAreTheSame(t *testing.T) {
	key := func(raw string) string {
		var item map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(raw), &item))
		k, ok := Key(item, []string{"id"})
		require.True(t, ok)
		return k
	}
	for _, same := range [][2]string{
		{`{"id":{"N":"1"}}`, `{ "id" : { "N" : "1.0" }, "other":{"S":"x"} }`},
		{`{"id":{"N":"100"}}`, `{"id":{"N":"1E2"}}`},
		{`{"id":{"N":"0"}}`, `{"id":{"N":"-0.00"}}`},
		{`{"id":{"N":"0.05"}}`, `{"id":{"N":"5e-2"}}`},
		{`{"id":{"S":"\u00e9"}}`, `{"id":{"S":"é"}}`},
	} {
		require.Equal(t, key(same[0]), key(same[1]))
	}
	require.NotEqual(t, key(`{"id":{"N":"1"}}`), key(`{"id":{"S":"1"}}`))
	require.NotEqual(t, key(`{"id":{"N":"1"}}`), key(`{"id":{"N":"-1"}}`))
	require.NotEqual(t, key(`{"id":{"N":"12345678901234567890123456789012345678"}}`), key(`{"id":{"N":"12345678901234567890123456789012345679"}}`))
	_, ok := Key(map[string]json.RawMessage{}, []string{"id"})
	require.False(t, ok)
}

func TestNumbersAreComparedByTheirValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[1-9][0-9]{0,10}`).Draw(t, "digits")
		require.Equal(t, number(digits), number("00"+digits+".000"))
		require.Equal(t, number(digits), number(digits+"0e-1"))
		require.NotEqual(t, number(digits), number(digits+"0"))
	})
}

func FuzzParseRequest(f *testing.F) {
	f.Add("PutItem", []byte(`{"TableName":"t","Item":{"id":{"S":"1"},"l":{"L":[{"M":{"k":{"SS":["a"]}}},1]}}}`))
	f.Add("BatchWriteItem", []byte(`{"RequestItems":{"t":[{"PutRequest":{"Item":{"a":{"NULL":true}}}},null]}}`))
	f.Add("TransactWriteItems", []byte(`{"TransactItems":[{"Put":{"TableName":"t","Item":[]}},{}]}`))
	f.Add("Query", []byte(`{"TableName":"t","Limit":-5,"ConsistentRead":null}`))
	f.Fuzz(func(t *testing.T, operation string, document []byte) {
		r, err := ParseRequest(operation, document)
		if err != nil {
			return
		}
		for _, c := range new(Estimates).Charges(r) {
			if c.Units <= 0 {
				t.Fatalf("%s %s costs %v", operation, document, c)
			}
		}
	})
}

func FuzzCharges(f *testing.F) {
	f.Add([]byte(`{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":0.5,"GlobalSecondaryIndexes":{"i":null}},null,3]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		charges, _ := Charges(answer, "t")
		for _, c := range charges {
			if c.Units < 0 {
				t.Fatalf("%s charges %v", answer, c)
			}
		}
	})
}
