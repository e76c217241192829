package dynamodb

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/throughput"
)

// reply is one scripted answer of the fake service; status 0 drops the
// connection without an answer.
type reply struct {
	status int
	body   string
	header string // x-amzn-errortype
}

// fakeDynamoDB answers with a script, its last reply for ever, and keeps what it
// was sent.
type fakeDynamoDB struct {
	mu       sync.Mutex
	replies  []reply
	answer   func(operation string, body []byte) reply // in place of a script
	date     func() time.Time                          // of the answers; nil: the present
	requests [][]byte
	at       []time.Time
}

func (f *fakeDynamoDB) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests = append(f.requests, body)
	f.at = append(f.at, time.Now())
	var now reply
	if f.answer != nil {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		now = f.answer(operation, body)
	} else {
		now = f.replies[0]
		if len(f.replies) > 1 {
			f.replies = f.replies[1:]
		}
	}
	f.mu.Unlock()
	if now.status == 0 {
		panic(http.ErrAbortHandler)
	}
	if f.date != nil {
		w.Header().Set("Date", f.date().UTC().Format(http.TimeFormat))
	}
	if now.header != "" {
		w.Header().Set("X-Amzn-Errortype", now.header)
	}
	w.Header().Set("X-Amzn-Requestid", "request-1")
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(now.status)
	_, _ = io.WriteString(w, now.body)
}

func (f *fakeDynamoDB) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]string, len(f.requests))
	for i, body := range f.requests {
		all[i] = string(body)
	}
	return all
}

// against makes the activities talk to the fake.
func against(t *testing.T, fake *fakeDynamoDB, change ...func(*Config)) *Activities {
	t.Helper()
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	config := Config{
		Client: awsdynamodb.New(awsdynamodb.Options{
			BaseEndpoint: aws.String(server.URL),
			Region:       "eu-west-1",
			Credentials:  credentials.NewStaticCredentialsProvider("id", "secret", ""),
		}),
		Place:  "eu-west-1",
		Worker: "test",
		Logger: quiet{},
	}
	for _, f := range change {
		f(&config)
	}
	db := New(config)
	t.Cleanup(db.Close)
	return db
}

// quiet drops log lines.
type quiet struct{}

func (quiet) Debug(string, ...any) {}

func (quiet) Info(string, ...any) {}

func (quiet) Warn(string, ...any) {}

func (quiet) Error(string, ...any) {}

func failureIn(t *testing.T, err error) (errType string, details activities.ErrorDetails, final bool) {
	t.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	details, ok := activities.DetailsOf(err)
	require.True(t, ok)
	return application.Type(), details, application.NonRetryable()
}

func TestDynamoDBDocumentsPassThrough(t *testing.T) {
	answer := `{ "Item" : {"id":{"S":"<x>"},"n":{"N":"12345678901234567890123456789012345678"},"b":{"B":"AAEC/w=="}}, "New":{"Field":[1e400]} }`
	fake := &fakeDynamoDB{replies: []reply{{200, answer, ""}}}
	db := against(t, fake)

	got, err := db.Call(t.Context(), "GetItem", json.RawMessage(`{"TableName":"orders", "Key":{"id":{"S":"<x>"}}, "Future":{"deep":[1.50]}}`), 0)
	require.NoError(t, err)
	require.Equal(t, answer, string(got), "the answer, byte for byte")
	require.Equal(t, `{"ReturnConsumedCapacity":"INDEXES","TableName":"orders", "Key":{"id":{"S":"<x>"}}, "Future":{"deep":[1.50]}}`,
		fake.sent()[0])
}

func TestDynamoDBAnswersInTheDetailAskedFor(t *testing.T) {
	answer := `{"ConsumedCapacity":{"TableName":"orders","CapacityUnits":3,"Table":{"CapacityUnits":1},"GlobalSecondaryIndexes":{"i":{"CapacityUnits":2}}}}`
	for asked, want := range map[string]string{
		`{"TableName":"orders","Item":{},"ReturnConsumedCapacity":"NONE"}`:    `{}`,
		`{"TableName":"orders","Item":{},"ReturnConsumedCapacity":"TOTAL"}`:   `{"ConsumedCapacity":{"TableName":"orders","CapacityUnits":3}}`,
		`{"TableName":"orders","Item":{},"ReturnConsumedCapacity":"INDEXES"}`: answer,
		`{"TableName":"orders","Item":{}}`:                                    answer,
	} {
		fake := &fakeDynamoDB{replies: []reply{{200, answer, ""}}}
		got, err := against(t, fake).Call(t.Context(), "PutItem", json.RawMessage(asked), 0)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), asked)
		require.Contains(t, fake.sent()[0], `"ReturnConsumedCapacity":"INDEXES"`)
	}
}

func TestDynamoDBEveryOperationReachesTheService(t *testing.T) {
	for _, op := range throughput.Operations() {
		var seen string
		fake := &fakeDynamoDB{answer: func(operation string, _ []byte) reply {
			seen = operation
			return reply{status: 200, body: `{}`}
		}}
		document := map[string]string{
			"BatchGetItem":       `{"RequestItems":{"orders":{"Keys":[{"id":{"S":"1"}}]}}}`,
			"BatchWriteItem":     `{"RequestItems":{"orders":[{"PutRequest":{"Item":{"id":{"S":"1"}}}}]}}`,
			"TransactGetItems":   `{"TransactItems":[{"Get":{"TableName":"orders","Key":{}}}]}`,
			"TransactWriteItems": `{"TransactItems":[{"Put":{"TableName":"orders","Item":{}}}],"ClientRequestToken":"t"}`,
			"ListTables":         `{}`,
		}[op.Name]
		if document == "" {
			document = `{"TableName":"orders"}`
		}
		_, err := against(t, fake).Call(t.Context(), op.Name, json.RawMessage(document), 0)
		require.NoError(t, err, op.Name)
		require.Equal(t, op.Name, seen)
	}
}

func TestDynamoDBRefusesWhatIsNoRequest(t *testing.T) {
	fake := &fakeDynamoDB{replies: []reply{{200, `{}`, ""}}}
	db := against(t, fake)
	for _, c := range []struct{ operation, document, want string }{
		{"PutItem", `{}`, "TableName: required"},
		{"PutItem", `[]`, "a list where an object"},
		{"PutItem", `null`, "null where an object"},
		{"PutItem", ``, "nothing where an object"},
		{"BatchGetItem", `{"RequestItems":{}}`, "names no table"},
		{"ExecuteStatement", `{}`, `no operation "ExecuteStatement"`},
	} {
		_, err := db.Call(t.Context(), c.operation, json.RawMessage(c.document), 0)
		errType, _, final := failureIn(t, err)
		require.Equal(t, activities.TypeInvalidInput, errType)
		require.True(t, final)
		require.ErrorContains(t, err, c.want)
	}
	require.Empty(t, fake.sent())
}
