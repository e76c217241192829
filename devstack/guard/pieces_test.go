package guard

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFaultsTakeTheirTurn(t *testing.T) {
	start := time.Unix(1000, 0)
	f := newFaults()
	id := f.add(Fault{Service: Kinesis, Operation: "PutRecords", From: 2, Count: 2, Status: 500}, start)
	f.add(Fault{Service: Kinesis, Latency: Duration(time.Second), For: Duration(time.Minute)}, start)
	status := func(operation string, at time.Duration) (int, bool) {
		p := f.match(&call{operation: operation, target: "s"}, Kinesis, start.Add(at))
		return p.Status, p.Latency > 0
	}
	for i, want := range []int{0, 500, 500, 0} {
		got, late := status("PutRecords", 0)
		require.Equal(t, want, got, "call %d", i+1)
		require.True(t, late)
	}
	_, late := status("GetRecords", 2*time.Minute)
	require.False(t, late, "its time is over")
	other := f.match(&call{operation: "PutRecords", target: "s"}, SQS, start)
	require.Zero(t, other.any())
	f.remove(id)
	require.Len(t, f.list(), 1)
	f.remove("")
	require.Empty(t, f.list())
}

func TestFaultIsChecked(t *testing.T) {
	require.NoError(t, Fault{Service: S3, Drop: "answer"}.validate())
	for _, bad := range []Fault{{}, {Service: "s4"}, {Service: S3, Drop: "all"}, {Service: S3, From: -1}} {
		require.Error(t, bad.validate(), "%+v", bad)
	}
	var d Duration
	require.Error(t, json.Unmarshal([]byte(`"5"`), &d), "a duration has a unit")
}

func TestNameOfStreamWithoutReadingRecords(t *testing.T) {
	tests := []struct {
		body, name string
		quick      bool
	}{
		{`{"Records":[{"Data":"","PartitionKey":"k"}],"StreamName":"s"}`, "s", true},
		{`{"StreamName":"s","Records":[]}`, "s", true},
		{`{"Records":[{"PartitionKey":",\"StreamName\":\"x\""}],"StreamARN":"arn:aws:kinesis:r:1:stream/s"}`, "", false},
		{`{"Records":[]}`, "", false},
		{`{"StreamName":"a\u0062"}`, `a\u0062`, false},
		{``, "", false},
	}
	for _, test := range tests {
		name, quick := quickName([]byte(test.body))
		require.Equal(t, test.quick, quick, test.body)
		if quick {
			require.Equal(t, test.name, name)
		}
	}
}

func TestRecordSize(t *testing.T) {
	for n := range 10 {
		raw := fmt.Sprintf(`{"Data":"%s","PartitionKey":"é"}`, base64.StdEncoding.EncodeToString(make([]byte, n)))
		r, err := readRecord([]byte(raw))
		require.NoError(t, err)
		require.Equal(t, n+2, r.size())
	}
	r, err := readRecord([]byte(`{"PartitionKey":"k"}`))
	require.NoError(t, err)
	require.Equal(t, 1, r.size())
}

func TestLimitsAreMerged(t *testing.T) {
	l := newLimits(Limits{})
	l.merge(Limits{DynamoDB: DynamoDBLimits{Tables: map[string]TableLimits{"a": {Write: 3}}}, Kinesis: KinesisLimits{RecordsPerSecond: -1}})
	l.merge(Limits{DynamoDB: DynamoDBLimits{Burst: Duration(time.Second), Tables: map[string]TableLimits{"b/x": {Read: 4}}}})
	got := l.get()
	require.Equal(t, map[string]TableLimits{"a": {Write: 3}, "b/x": {Read: 4}}, got.DynamoDB.Tables)
	require.Equal(t, Duration(time.Second), got.DynamoDB.Burst)
	require.Equal(t, -1.0, got.Kinesis.RecordsPerSecond)
	require.Equal(t, 500, got.Kinesis.RequestRecords)

	table := &table{name: "a", rates: map[string]TableLimits{"": {Read: 5, Write: 5}}}
	require.Equal(t, 3.0, got.rate(table, resource{table: "a", write: true}))
	require.Equal(t, 5.0, got.rate(table, resource{table: "a"}))
}

func TestRequestLimits(t *testing.T) {
	l := DefaultLimits().Kinesis
	filled := func(n, size int) (list []record, total int) {
		r := record{Data: []byte(`"` + base64.StdEncoding.EncodeToString(make([]byte, size)) + `"`), PartitionKey: "k"}
		for range n {
			list, total = append(list, r), total+r.size()
		}
		return list, total
	}
	tests := []struct {
		records, size int
		refused       bool
	}{{500, 10, false}, {501, 10, true}, {1, 1<<20 - 1, false}, {1, 1 << 20, true}, {10, 1<<20 - 1, false}, {11, 1<<20 - 1, true}}
	for _, test := range tests {
		require.Equal(t, test.refused, l.refusal(filled(test.records, test.size)) != "", "%+v", test)
	}
}

func TestTokensAreRememberedForTenMinutes(t *testing.T) {
	start := time.Unix(1000, 0)
	tokens, request := newTokens(), sha256.Sum256([]byte("a"))
	require.Nil(t, tokens.begin("t", request, start))
	require.False(t, tokens.begin("t", request, start).done, "in progress")
	tokens.end("t", false, nil, start)
	require.Nil(t, tokens.begin("t", request, start), "one that failed may be tried again")
	tokens.end("t", true, []consumed{{CapacityUnits: 2}}, start)
	use := tokens.begin("t", request, start.Add(9*time.Minute))
	require.True(t, use.done)
	require.Equal(t, 2.0, use.used[0].CapacityUnits)
	require.Nil(t, tokens.begin("t", request, start.Add(11*time.Minute)))
}

func TestRemovalsThatARuleWants(t *testing.T) {
	rule := queueRule{Events: []string{"s3:ObjectCreated:*", "s3:ObjectRemoved:*"}}
	require.True(t, rule.wants("a"))
	rule.Filter = append(rule.Filter, struct {
		Name  string `xml:"Name"`
		Value string `xml:"Value"`
	}{"Prefix", "in/"})
	require.True(t, rule.wants("in/a"))
	require.False(t, rule.wants("out/a"))
	require.False(t, queueRule{Events: []string{"s3:ObjectCreated:Put"}}.wants("a"))
}

func TestEventsKeepTheirPlaceWhenTheyComeAgain(t *testing.T) {
	o := newObjects(nil)
	first, second := version{"b", "k", "1"}, version{"b", "k", "2"}
	o.written(first, "")
	o.written(second, "")
	later := o.sequencer("m2", second) // the later write is announced first
	earlier := o.sequencer("m1", first)
	require.Less(t, earlier, later)
	require.Equal(t, later, o.sequencer("m2", second))
	require.Greater(t, o.sequencer("m3", first), later, "a write that was not seen comes now")

	body := `{"Records":[{"eventSource":"aws:s3","eventName":"s3:ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k","eTag":"1","size":12345678901234567890}}}]}`
	out := doc{"Messages": encode([]map[string]string{{"MessageId": "m4", "Body": body, "MD5OfBody": sum(body)}, {"MessageId": "m5", "Body": "not ours", "MD5OfBody": "x"}})}
	o.mendEvents(out)
	var messages []struct{ Body, MD5OfBody string }
	require.NoError(t, json.Unmarshal(out["Messages"], &messages))
	require.Equal(t, sum(messages[0].Body), messages[0].MD5OfBody)
	require.Contains(t, messages[0].Body, `"eventName":"ObjectCreated:Put"`)
	require.Contains(t, messages[0].Body, `12345678901234567890`)
	require.Equal(t, "not ours", messages[1].Body)
}
