package hostile_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"sluice/docs/schema"
	"sluice/internal/errortype"
	"sluice/tests/harness"
	"sluice/tests/hostile"
)

// A world has one of everything that a valid document needs, and a worker.
type world struct {
	*harness.Stack
	t       *testing.T
	worker  *harness.Worker
	own     string // task queue of the workflow that calls activities
	known   map[string][]string
	schemas map[string]described
	calls   []string // activities
	tally   tally
}

// described is a document as the generator and as the judge knows it.
type described struct {
	shape  *hostile.Schema
	schema *jsonschema.Schema
}

func newWorld(t *testing.T) *world {
	s := harness.Start(t)
	w := &world{Stack: s, t: t, own: s.Name("caller"), schemas: map[string]described{}}
	w.tally.kinds = map[string]int{}
	table, stream, bucket, queue, azure := s.NewTable(harness.Table{}), s.NewStream(1), s.NewBucket(), s.NewQueue(nil), s.Name("tasks")
	s.NewAzureQueue(azure)
	key := "lines"
	_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("a\nb\n")})
	require.NoError(t, err)
	echo := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(echo.Close)
	quoted := func(values ...string) (all []string) {
		for _, v := range values {
			all = append(all, fmt.Sprintf("%q", v))
		}
		return all
	}
	w.known = map[string][]string{
		"TableName": quoted(table), "table": quoted(table, "no-such-table"), "StreamName": quoted(stream), "stream": quoted(stream, "no-such-stream"),
		"bucket": quoted(bucket, "no-such-bucket"), "key": quoted(key, "no-such-key"), "queueUrl": quoted(queue), "notifications": quoted(queue), "name": quoted(azure, "S3.List"),
		"queue": quoted(azure), "url": quoted(echo.URL+"/x", "http://127.0.0.1:1/"), "method": quoted("POST", "GET"), "auth": quoted("", "none"), "id": quoted("a", "b", "c"), "after": quoted("a"),
		"activity": quoted("S3.List", "Nobody.Knows"), "workflow": quoted("Request"), "taskQueue": quoted("", "nobody-polls"), "Data": quoted("YQ=="), "PartitionKey": quoted("k", "`k`"),
		"ExplicitHashKey": quoted("0", "340282366920938463463374607431768211455"), "DeadLetter": {"{}"}, "resource": quoted("dynamodb/eu-west-1/orders/read"), "holder": quoted("me", "you"),
		"worker": quoted("w1", "w2"), "deadline": quoted("", "2h", "2030-01-01T00:00:00Z"), "service": quoted("http://127.0.0.1:1"), "body": {`"text"`, `{"a":1}`}, "workflowId": quoted("nobody"),
	}
	w.describeAll()
	w.worker = s.StartWorker("SLUICE_HTTP_ALLOW=" + echo.URL)
	w.startCaller()
	return w
}

// startCaller runs the workflow that calls activities with raw inputs.
func (w *world) startCaller() {
	caller := worker.New(w.Client, w.own, worker.Options{})
	caller.RegisterWorkflow(callWorkflow)
	require.NoError(w.t, caller.Start())
	w.t.Cleanup(caller.Stop)
}

// describeAll reads the schemas of all that is sent.
func (w *world) describeAll() {
	for _, start := range starts {
		w.describe(start[1])
	}
	for _, m := range messages {
		w.describe(m.schema)
	}
	for activity, name := range callable {
		w.calls = append(w.calls, activity)
		w.describe(name)
	}
	for activity, text := range served {
		w.calls = append(w.calls, activity)
		w.describe(activity, text)
	}
	slices.Sort(w.calls)
}

// describe reads a schema of docs/schema, or the text of one.
func (w *world) describe(name string, text ...string) {
	raw, ok := schema.Of(name)
	if len(text) > 0 {
		raw, ok = []byte(text[0]), true
	}
	require.True(w.t, ok, name)
	shape, err := hostile.Parse(raw)
	require.NoError(w.t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	require.NoError(w.t, err)
	c := jsonschema.NewCompiler()
	require.NoError(w.t, c.AddResource(name, document))
	compiled, err := c.Compile(name)
	require.NoError(w.t, err)
	w.schemas[name] = described{shape, compiled}
}

// raw is a document as it travels, whatever its bytes.
func raw(doc []byte) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: doc})
}

// A sender sends documents one after the other.
type sender struct {
	*world
	*hostile.Generator
	n       int
	count   int
	targets map[string]string // by workflow type, the one that gets messages
}

func (s *sender) id() string {
	s.count++
	return fmt.Sprintf("hostile/%d/%d", s.n, s.count)
}

// tally counts, and keeps what should not have been.
type tally struct {
	mu     sync.Mutex
	kinds  map[string]int
	faults []string
}

func (y *tally) add(kind string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.kinds[kind]++
}

func (y *tally) fault(format string, args ...any) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.faults = append(y.faults, fmt.Sprintf(format, args...))
}

func (y *tally) report(t *testing.T) {
	t.Logf("%v", y.kinds)
	for _, fault := range y.faults[:min(len(y.faults), 20)] {
		t.Error(fault)
	}
	require.Empty(t, len(y.faults), "faults")
	require.Positive(t, y.kinds["taken"])
	require.Positive(t, y.kinds["InvalidInput"])
}

// setAside are the bad records of a put, which are none of its refusal's business.
func setAside(path string) bool { return strings.HasPrefix(path, "Records[") }

var known = []string{
	errortype.InvalidInput, errortype.Throttled, errortype.Unavailable, errortype.Ambiguous, errortype.ConditionFailed, errortype.Conflict,
	errortype.NotFound, errortype.AccessDenied, errortype.TooLarge, errortype.Expired, errortype.RequestFailed,
}

// judge looks at what became of a document: it was done, or refused by an error of
// ours that names the paths at which the schema differs.
func (w *world) judge(what, name string, doc []byte, err error) {
	wrong, unreadable := hostile.Wrong(w.schemas[name].schema, doc)
	wrong = slices.DeleteFunc(wrong, setAside)
	if err == nil {
		w.tally.add("taken")
		if unreadable || len(wrong) > 0 {
			w.tally.fault("%s takes what its schema refuses, at %q: %.1500q", what, wrong, doc)
		}
		return
	}
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || !slices.Contains(known, application.Type()) {
		w.tally.fault("%s ends with no error of ours: %.1500v (%T)\nof %.1500q", what, err, err, doc)
		return
	}
	w.tally.add(application.Type())
	message := application.Message()
	if !utf8.ValidString(message) {
		w.tally.fault("%s: the refusal is no UTF-8: %.1500q", what, message)
	}
	if application.Type() != errortype.InvalidInput || len(message) > 4000 || served[name] != "" {
		return // the service says in its own words what is wrong with its documents
	}
	for _, path := range wrong {
		if !hostile.Names(message, path) {
			w.tally.fault("%s: the refusal does not name %q: %s\nof %.1500q", what, path, message, doc)
			return
		}
	}
}
