package recordbatch

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/document"
)

// awsRecord is a record as the standard library reads and writes it.
type awsRecord struct {
	Data            []byte
	PartitionKey    *string `json:",omitempty"`
	ExplicitHashKey *string `json:",omitempty"`
}

func (r *awsRecord) record() Record {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return Record{r.Data, text(r.PartitionKey), text(r.ExplicitHashKey)}
}

// TestRecordsAreReadAsTheStandardLibraryDoes: any data and any key, however they
// are spaced and escaped.
func TestRecordsAreReadAsTheStandardLibraryDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Ptr(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a\"b", "\\", "<é>", "\u2028", "\U0001F600", "key-1"})), true)
		list := make([]awsRecord, rapid.IntRange(0, 8).Draw(t, "records"))
		for i := range list {
			list[i] = awsRecord{rapid.SliceOf(rapid.Byte()).Draw(t, "data"), text.Draw(t, "key"), text.Draw(t, "hash key")}
			if list[i].Data == nil {
				list[i].Data = []byte{}
			}
		}
		raw, err := json.Marshal(list)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "spaced") {
			raw, err = json.MarshalIndent(list, " ", "\t")
			require.NoError(t, err)
		}
		got := ReadRecords(raw, func(record int, field, message string) { t.Fatalf("%d %s: %s", record, field, message) })
		requireRecords(t, list, got)
	})
}

// requireRecords compares what was read with AWS's list of the same records.
func requireRecords(t require.TestingT, want []awsRecord, got []Record) {
	require.Len(t, got, len(want))
	for i := range want {
		r := want[i].record()
		require.Equal(t, r.Key, got[i].Key)
		require.Equal(t, r.HashKey, got[i].HashKey)
		require.Equal(t, string(r.Data), string(got[i].Data))
	}
}

// FuzzReadRecords: no text panics, and what is read without a fault is what the
// standard library reads.
func FuzzReadRecords(f *testing.F) {
	f.Add(`[{"Data":"eA==","PartitionKey":"k","ExplicitHashKey":"1"},{"PartitionKey":null,"Data":""}]`)
	f.Add(`[{"Data":"e\u0041==","PartitionKey":"\ud83d\ude00\ud800"}]`)
	f.Add(`[{"Data":5},{"Data":"?"},7,{"X":[{}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return // the caller's decoder refuses it first
		}
		faults := 0
		got := ReadRecords([]byte(text), func(int, string, string) { faults++ })
		var want []awsRecord
		if !document.IsText([]byte(text)) {
			return // the standard library reads U+FFFD there
		}
		if faults > 0 || json.Unmarshal([]byte(text), &want) != nil {
			return
		}
		requireRecords(t, want, got)
	})
}

// TestHalfASurrogatePairInAKeyIsRefused: it must not become U+FFFD, which is the key
// of other records.
func TestHalfASurrogatePairInAKeyIsRefused(t *testing.T) {
	limits := testSettings().Limits
	for key, fit := range map[string]bool{`\ud800`: false, `a\udfffb`: false, `\udc00\ud800`: false, `\ud83d\ude00`: true, `\ufffd`: true, `\\ud800`: true} {
		got := ReadRecords([]byte(`[{"Data":"","PartitionKey":"`+key+`"}]`), func(_ int, field, message string) { t.Fatal(field, message) })
		require.Len(t, got, 1)
		fault := limits.Check(&got[0])
		require.Equal(t, fit, fault == nil, key)
		if !fit {
			require.Equal(t, CodeBadKey, fault.Code)
		}
	}
}

// judge is what an answer says of its records by the rule, read plainly.
func judge(t require.TestingT, body []byte, records int) []Kind {
	var answer struct {
		Records []struct{ SequenceNumber, ShardID, ErrorCode *string }
	}
	require.NoError(t, json.Unmarshal(body, &answer))
	kinds := make([]Kind, records)
	for i := range kinds {
		kinds[i] = Unconfirmed
		if len(answer.Records) != records {
			continue
		}
		switch e := answer.Records[i]; {
		case e.ErrorCode != nil && *e.ErrorCode != "":
			kinds[i] = Refused
		case e.SequenceNumber != nil && *e.SequenceNumber != "":
			kinds[i] = Stored
		}
	}
	return kinds
}

// TestAnswersAreJudgedByTheirEntries: whatever the count says, in whatever order
// and form the fields come.
func TestAnswersAreJudgedByTheirEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "records")
		q := NewQueue(testSettings(), named(2), start)
		q.Push(items(&Call{MaxAttempts: 3}, n, 10), start)
		q.Flush()
		request, _ := q.Next(start)
		require.NotNil(t, request)
		n = len(request.Items)
		entries := make([]map[string]any, max(0, n+rapid.SampledFrom([]int{0, 0, 0, -1, 1}).Draw(t, "more")))
		for i := range entries {
			entries[i] = map[string]any{}
			if i < n && rapid.IntRange(0, 2).Draw(t, "usual") > 0 {
				// As the service writes most of them, one like the other.
				entries[i]["SequenceNumber"] = rapid.SampledFrom([]string{"4951", "4952", "495"}).Draw(t, "number")
				entries[i]["ShardId"] = q.Shards()[request.Items[i].shard].ID
				continue
			}
			for field, values := range map[string][]any{
				"SequenceNumber": {"1", "495", "", nil}, "ShardId": {"shardId-000000000000", "shardId-000000000001", "other", nil},
				"ErrorCode": {nil, nil, "", CodeThrottled, CodeInternal, "Other\"Code"}, "ErrorMessage": {nil, "m\n"}, "Extra": {nil, []any{map[string]any{"a": "]"}}},
			} {
				if rapid.Bool().Draw(t, "has") {
					entries[i][field] = rapid.SampledFrom(values).Draw(t, field)
				}
			}
		}
		answer := map[string]any{"Records": entries}
		if rapid.Bool().Draw(t, "counted") {
			answer["FailedRecordCount"] = rapid.SampledFrom([]any{0, 1, nil}).Draw(t, "count")
		}
		body, err := json.Marshal(answer)
		require.NoError(t, err)
		_, err = request.ReadAnswer(body)
		require.NoError(t, err)
		got, told := make([]Kind, n), make([]Verdict, n)
		for i := range got {
			got[i], told[i] = request.VerdictOf(i).Kind, *request.VerdictOf(i)
		}
		require.Equal(t, judge(t, body, n), got, string(body))
		for _, raw := range [][]byte{encodeCBOR(t, answer), openCBOR(nil, answer)} {
			_, err := request.ReadAnswer(raw)
			require.NoError(t, err)
			for i := range told {
				require.Equal(t, told[i], *request.VerdictOf(i), "entry %d of %x", i, raw)
			}
		}
	})
}

// FuzzReadAnswer: no answer panics; one that is no JSON, or is cut off, is an
// error or confirms nothing that it does not say.
func FuzzReadAnswer(f *testing.F) {
	f.Add(`{"FailedRecordCount":0,"Records":[{"SequenceNumber":"1","ShardId":"shardId-000000000000"},{"ErrorCode":"InternalFailure"}]}`)
	f.Add(`{"Records":[{"SequenceNumber":"1","ShardId":"shardId-000000000000"}`)
	f.Add(`<html>`)
	f.Add("\xbfgRecords\x9f\xbfnSequenceNumbera1gShardIdtshardId-000000000000\xff\xa1iErrorCodea2\xff\xff")
	f.Add("\xa1gRecords\x82\xa1nSequenceNumber\x7fa1\xff\xc1\xa0")
	f.Fuzz(func(t *testing.T, body string) {
		q := NewQueue(testSettings(), named(1), start)
		q.Push(items(&Call{MaxAttempts: 3}, 2, 10), start)
		q.Flush()
		request, _ := q.Next(start)
		require.NotNil(t, request)
		if _, err := request.ReadAnswer([]byte(body)); err != nil {
			return
		}
		require.True(t, request.AllStored != (len(request.Verdicts) == 2))
		var plain struct {
			Records []struct{ SequenceNumber, ErrorCode *string }
		}
		if json.Unmarshal([]byte(body), &plain) != nil {
			return
		}
		for i := range request.Items {
			v := request.VerdictOf(i)
			if v.Kind == Stored && len(plain.Records) == 2 {
				require.NotNil(t, plain.Records[i].SequenceNumber, body)
			}
		}
	})
}
