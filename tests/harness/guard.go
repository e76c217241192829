package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
)

// Services of the guard.
const (
	DynamoDB = "dynamodb"
	Kinesis  = "kinesis"
	S3       = "s3"
	SQS      = "sqs"
	AzQueue  = "azqueue"
)

// A Fault is what the guard does to calls that match service, operation ("" any)
// and target (table, stream, bucket, object as "<bucket>/<key>", or queue; "" any). Calls are counted from
// when the fault was added.
type Fault struct {
	Service   string `json:"service"`
	Operation string `json:"operation,omitempty"`
	Target    string `json:"target,omitempty"`
	AccessKey string `json:"accessKey,omitempty"` // only what is signed with it
	From      int    `json:"from,omitempty"`      // first call, from 1; 0 is 1
	Count     int    `json:"count,omitempty"`     // so many calls; 0 is every one until cleared
	For       string `json:"for,omitempty"`       // ends after this time

	Latency string `json:"latency,omitempty"` // wait before the work
	Status  int    `json:"status,omitempty"`  // answer this in place of the work
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Body    string `json:"body,omitempty"` // in place of the one made of code and message
	// Work is done before the answer of Status or Body.
	Work bool `json:"work,omitempty"`
	// Drop "request": the connection is reset before the work; "answer": after
	// it, without an answer.
	Drop string `json:"drop,omitempty"`
	// Stall sends the headers, then half of the body, and so long nothing.
	Stall string `json:"stall,omitempty"`
	// Duplicate does the work twice.
	Duplicate bool `json:"duplicate,omitempty"`
	// Skew is by how much the service's clock is ahead.
	Skew string `json:"skew,omitempty"`
	// Entries fail single entries of a batch; the others go on.
	Entries []FaultEntry `json:"entries,omitempty"`
}

// A FaultReason is one of CancellationReasons.
type FaultReason struct {
	Code    string `json:"Code"`
	Message string `json:"Message,omitempty"`
}

// A FaultEntry fails entries of PutRecords, or leaves entries of a DynamoDB batch
// unprocessed: at an index, of a shard, of a partition key, or all.
type FaultEntry struct {
	Index   *int   `json:"index,omitempty"`
	Shard   string `json:"shard,omitempty"`
	Key     string `json:"key,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Count is what the guard saw of one operation on one target.
type Count struct {
	Calls          int     `json:"calls"`
	Throttled      int     `json:"throttled"` // refused, wholly or in part, by a limit
	Faulted        int     `json:"faulted"`
	Consumed       float64 `json:"consumed"` // capacity units of the table and its indexes
	Records        int     `json:"records"`  // entries of batches that were taken
	RecordsRefused int     `json:"recordsRefused"`
}

// Counters are by service, operation and target.
type Counters map[string]map[string]map[string]Count

// Sum adds up all targets of an operation, or one's.
func (c Counters) Sum(service, operation string, target ...string) Count {
	var sum Count
	for name, n := range c[service][operation] {
		if len(target) > 0 && target[0] != name {
			continue
		}
		sum.Calls += n.Calls
		sum.Throttled += n.Throttled
		sum.Faulted += n.Faulted
		sum.Consumed += n.Consumed
		sum.Records += n.Records
		sum.RecordsRefused += n.RecordsRefused
	}
	return sum
}

// Limits replace the guard's own; see `devstack up --help`.
type Limits struct {
	DynamoDB *DynamoDBLimits `json:"dynamodb,omitempty"`
	Kinesis  *KinesisLimits  `json:"kinesis,omitempty"`
}

// DynamoDBLimits are in capacity units a second; 0 is the table's own setting.
type DynamoDBLimits struct {
	Burst  string                 `json:"burst,omitempty"`
	Tables map[string]TableLimits `json:"tables,omitempty"` // "<table>" or "<table>/<index>"
	Keys   map[string]TableLimits `json:"keys,omitempty"`   // of each partition key of a table
}

// TableLimits of one table or index.
type TableLimits struct {
	Read  float64 `json:"read,omitempty"`
	Write float64 `json:"write,omitempty"`
}

// KinesisLimits are those of each shard, and of a request.
type KinesisLimits struct {
	RecordsPerSecond float64 `json:"recordsPerSecond,omitempty"`
	BytesPerSecond   float64 `json:"bytesPerSecond,omitempty"`
	RequestRecords   int     `json:"requestRecords,omitempty"`
	RequestBytes     int     `json:"requestBytes,omitempty"`
	RecordBytes      int     `json:"recordBytes,omitempty"`
}

// Guard is a client of the guard's admin address.
type Guard struct{ admin string }

// NewGuard makes a client of an admin address.
func NewGuard(admin string) *Guard { return &Guard{admin} }

// Inject adds a fault until the test ends and answers its ID.
func (g *Guard) Inject(t testing.TB, fault Fault) string {
	t.Helper()
	var added struct {
		ID string `json:"id"`
	}
	g.call(t, http.MethodPost, "/faults", fault, &added)
	t.Cleanup(func() {
		_ = g.do(context.Background(), http.MethodDelete, "/faults?id="+url.QueryEscape(added.ID), nil, nil)
	})
	return added.ID
}

// Clear removes one fault.
func (g *Guard) Clear(t testing.TB, id string) {
	t.Helper()
	g.call(t, http.MethodDelete, "/faults?id="+url.QueryEscape(id), nil, nil)
}

// Counters answers what the guard has seen since the last reset.
func (g *Guard) Counters(t testing.TB) Counters {
	t.Helper()
	c := Counters{}
	g.call(t, http.MethodGet, "/counters", nil, &c)
	return c
}

// An Action is what IAM would be asked for: an action, and the ARN of its resource with
// REGION and ACCOUNT in it.
type Action struct {
	Action   string `json:"action"`
	Resource string `json:"resource"`
}

// Actions are what an access key has been used for since the stack began.
func (g *Guard) Actions(t testing.TB, accessKey string) (all []Action) {
	t.Helper()
	g.call(t, http.MethodGet, "/actions?accessKey="+url.QueryEscape(accessKey), nil, &all)
	return all
}

// SetLimits merges limits into those in force.
func (g *Guard) SetLimits(t testing.TB, limits Limits) {
	t.Helper()
	g.call(t, http.MethodPut, "/limits", limits, nil)
}

func (g *Guard) restartTemporal(ctx context.Context) error {
	return g.do(ctx, http.MethodPost, "/temporal/restart", nil, nil)
}

func (g *Guard) call(t testing.TB, method, path string, in, out any) {
	t.Helper()
	if err := g.do(t.Context(), method, path, in, out); err != nil {
		t.Fatalf("guard: %s %s: %v", method, path, err)
	}
}

func (g *Guard) do(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, g.admin+path, body)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s: %s", response.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
