package s3event

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func notice(name, key, more string) string {
	return fmt.Sprintf(`{"eventVersion":"2.1","eventSource":"aws:s3","eventTime":"2026-01-02T03:04:05.678Z","eventName":%q,`+
		`"s3":{"bucket":{"name":"landing"},"object":{"key":%q,"size":5,"eTag":"e1"%s}}}`, name, key, more)
}

func records(rs ...string) string {
	list := ""
	for i, r := range rs {
		if i > 0 {
			list += ","
		}
		list += r
	}
	return `{"Records":[` + list + `]}`
}

func quoted(t require.TestingT, text string) string {
	raw, err := json.Marshal(text)
	require.NoError(t, err)
	return string(raw)
}

func one(t *testing.T, body string) Event {
	t.Helper()
	m, err := Parse([]byte(body))
	require.NoError(t, err)
	require.Empty(t, m.Faults)
	require.Len(t, m.Events, 1)
	return m.Events[0]
}

func TestParseNotification(t *testing.T) {
	e := one(t, records(notice("ObjectCreated:Put", "a/b.txt", `,"sequencer":"0055AED6DCD90281E5","versionId":"v1"`)))
	require.Equal(t, Event{
		Kind: Created, Bucket: "landing", Key: "a/b.txt", Version: "v1", ETag: "e1", Size: 5,
		Stamp: Stamp{Sequencer: "0055AED6DCD90281E5", At: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
	}, e)
}

func TestParseEventNames(t *testing.T) {
	for name, want := range map[string]Kind{
		"ObjectCreated:Put":                          Created,
		"s3:ObjectCreated:Put":                       Created,
		"ObjectCreated:Post":                         Created,
		"ObjectCreated:Copy":                         Created,
		"s3:ObjectCreated:CompleteMultipartUpload":   Created,
		"ObjectRemoved:Delete":                       Removed,
		"s3:ObjectRemoved:Delete":                    Removed,
		"ObjectRemoved:DeleteMarkerCreated":          Marker,
		"LifecycleExpiration:Delete":                 Removed,
		"s3:LifecycleExpiration:DeleteMarkerCreated": Marker,
	} {
		require.Equal(t, want, one(t, records(notice(name, "k", ""))).Kind, name)
	}
	for _, name := range []string{"ObjectTagging:Put", "ObjectRestore:Completed", "s3:Replication:OperationFailedReplication", "ObjectAcl:Put"} {
		m, err := Parse([]byte(records(notice(name, "k", ""))))
		require.NoError(t, err, name)
		require.Equal(t, Message{Passed: 1}, m, name)
	}
}

func TestParseWrappings(t *testing.T) {
	plain := records(notice("ObjectCreated:Put", "this+is+%2B+it.txt", ""))
	sns := func(inner string) string {
		return `{"Type":"Notification","MessageId":"m","TopicArn":"arn:aws:sns:eu-west-1:1:t","Message":` + quoted(t, inner) + `,"Timestamp":"2026-01-02T03:04:05Z"}`
	}
	bridge := `{"version":"0","id":"i","detail-type":"Object Created","source":"aws.s3","time":"2026-01-02T03:04:05Z",` +
		`"detail":{"version":"0","bucket":{"name":"landing"},"object":{"key":"this is + it.txt","size":5,"etag":"e1","version-id":"v","sequencer":"617f08299329d189"},"reason":"PutObject"}}`
	for what, body := range map[string]string{"plain": plain, "sns": sns(plain), "sns twice": sns(sns(plain)), "bridge": bridge, "bridge in sns": sns(bridge)} {
		e := one(t, body)
		require.Equal(t, "landing", e.Bucket, what)
		require.Equal(t, "this is + it.txt", e.Key, what)
		require.Equal(t, Created, e.Kind, what)
	}
	_, err := Parse([]byte(sns(sns(sns(sns(plain))))))
	require.ErrorContains(t, err, "too many times")

	for deletion, want := range map[string]Kind{"Permanently Deleted": Removed, "Delete Marker Created": Marker} {
		e := one(t, `{"detail-type":"Object Deleted","time":"2026-01-02T03:04:05Z","detail":{"bucket":{"name":"b"},"object":{"key":"k"},"deletion-type":"`+deletion+`"}}`)
		require.Equal(t, want, e.Kind)
	}
	m, err := Parse([]byte(`{"detail-type":"Object Tags Added","detail":{}}`))
	require.NoError(t, err)
	require.Equal(t, Message{Passed: 1}, m)
}

func TestParseTestEvent(t *testing.T) {
	body := `{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-01-02T03:04:05.000Z","Bucket":"landing","RequestId":"r","HostId":"h"}`
	for _, b := range []string{body, `{"Type":"Notification","Message":` + quoted(t, body) + `}`} {
		m, err := Parse([]byte(b))
		require.NoError(t, err)
		require.Equal(t, Message{Passed: 1}, m)
	}
}

func TestParseUnreadable(t *testing.T) {
	for _, body := range []string{``, `null`, `[]`, `"text"`, `{`, `{"hello":"world"}`, `{"Message":"not json"}`, `{"Records":7}`,
		`{"detail-type":"Object Created","detail":{"bucket":{"name":"b"}}}`} {
		_, err := Parse([]byte(body))
		require.Error(t, err, body)
	}
}

// A record that can't be read does not hide its neighbours.
func TestParseKeepsGoodRecords(t *testing.T) {
	m, err := Parse([]byte(records(
		notice("ObjectCreated:Put", "a", ""),
		`{"eventVersion":"3.0","eventName":"ObjectCreated:Put"}`,
		`{"eventVersion":"2.9","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{}}}`,
		`{"eventVersion":"2.9"}`, `17`,
		notice("ObjectCreated:Put", "b", ""),
	)))
	require.NoError(t, err)
	require.Len(t, m.Events, 2)
	require.Len(t, m.Faults, 4)
	require.ErrorContains(t, m.Faults[0], `Records[1]: event version "3.0" is not 2.x`)
}

func TestCaseQ07KeysAreDecodedOnce(t *testing.T) {
	for raw, want := range map[string]string{
		"this+im+%2B+age+blah.txt":                           "this im + age blah.txt",
		"job/subjob/2021-05-12T19%3A26%3A00%2B00%3A00/1.log": "job/subjob/2021-05-12T19:26:00+00:00/1.log",
		"%252B%2520%25%25%25.png":                            "%2B%20%%%.png",
		"%E3%83%87%E3%83%BC%E3%82%BF/%C3%A9%F0%9F%98%80.csv": "データ/é😀.csv",
		"cafe%CC%81.csv":                                     "cafe\u0301.csv",
		"caf%C3%A9.csv":                                      "caf\u00e9.csv",
		"test12%2Fa.jpg":                                     "test12/a.jpg",
	} {
		e := one(t, records(notice("ObjectCreated:Put", raw, "")))
		require.Equal(t, want, e.Key)
		require.False(t, e.RawKey)
	}
	e := one(t, records(notice("ObjectCreated:Put", "bad%zz", "")))
	require.Equal(t, "bad%zz", e.Key)
	require.True(t, e.RawKey)

	decomposed := one(t, records(notice("ObjectCreated:Put", "cafe%CC%81.csv", "")))
	composed := one(t, records(notice("ObjectCreated:Put", "caf%C3%A9.csv", "")))
	plan := Counting{}.Plan([]Event{decomposed, composed}, nil, nil, time.Now())
	require.EqualValues(t, 2, plan.Totals[0].Records)
}

func TestOversizedFieldsAreUnreadable(t *testing.T) {
	long := strings.Repeat("A", 2000)
	m, err := Parse([]byte(records(notice("ObjectCreated:Put", "k", `,"sequencer":"`+long+`"`))))
	require.NoError(t, err)
	require.Len(t, m.Faults, 1)
	require.LessOrEqual(t, len(LedgerID("b", strings.Repeat("%zz", 1024))), 2048)
	require.NotEqual(t, LedgerID("b", strings.Repeat("%zz", 1024)), LedgerID("b", strings.Repeat("%zz", 1025)))
}

func TestKeysSurviveTheirEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringN(1, 100, -1).Draw(t, "key")
		raw, err := json.Marshal(map[string]any{"Records": []any{map[string]any{
			"eventName": "ObjectCreated:Put",
			"s3":        map[string]any{"bucket": map[string]any{"name": "b"}, "object": map[string]any{"key": formEncode(key)}},
		}}})
		require.NoError(t, err)
		m, err := Parse(raw)
		require.NoError(t, err)
		require.Equal(t, key, m.Events[0].Key)
	})
}

func FuzzParse(f *testing.F) {
	f.Add(records(notice("ObjectCreated:Put", "a+b", `,"sequencer":"00"`)))
	f.Add(`{"Type":"Notification","Message":"{\"Records\":[]}"}`)
	f.Add(`{"detail-type":"Object Created","detail":{"bucket":{"name":"b"},"object":{"key":"k"}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		m, err := Parse([]byte(body))
		if err != nil {
			return
		}
		for _, e := range m.Events {
			if e.Bucket == "" || e.Key == "" {
				t.Fatalf("event without bucket or key: %+v", e)
			}
		}
		Counting{PrefixDepth: 1}.Plan(m.Events, nil, nil, time.Time{})
	})
}
