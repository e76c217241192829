package programs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// A mistake is a command that a person gives in error, or where something is missing.
type mistake struct {
	stack *harness.Stack
	stdin string
	args  []string
	tells []string // all of it, on either stream
	exits int
	// waits: the command goes on until it is interrupted, and exits 3 then.
	waits bool
	// later: what it tells takes a moment to be seen; it is asked again.
	later bool
}

// make does it, and sees what is told, which exit status, and how fast.
func (m mistake) make(t *testing.T) {
	t.Helper()
	began := time.Now()
	if m.waits {
		waiting := m.stack.LaunchStarter(m.args...)
		tells(t, waiting, began, m.tells...)
		interrupt(t, waiting, strings.NewReplacer("kinesis", "request", "dynamodb", "request").Replace(m.args[0])+" status")
		return
	}
	var r harness.Result
	harness.Await(t, "what is told", func(context.Context) error {
		r = m.stack.StarterWith(m.stdin, m.args...)
		for _, part := range m.tells {
			if !strings.Contains(r.Stdout+r.Stderr, part) {
				err := fmt.Errorf("exit %d: not told: %s\n%s%s", r.Code, part, r.Stdout, r.Stderr)
				if m.later {
					return err
				}
				return harness.Never(err)
			}
		}
		return nil
	})
	r.Exits(t, m.exits)
	require.Less(t, time.Since(began), soon+10*time.Second)
	t.Logf("told after %s", time.Since(began).Round(10*time.Millisecond))
}

// file writes a document for a command that reads no standard input.
func file(t *testing.T, document string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "document.json")
	require.NoError(t, os.WriteFile(name, []byte(document), 0o600))
	return name
}

// withWorker is a stack with a worker of this environment.
func withWorker(t *testing.T, env ...string) *harness.Stack {
	t.Helper()
	s := harness.Start(t)
	s.StartWorker(env...)
	return s
}

func TestMistakesAreToldWithTheirReason(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	nobody := harness.Start(t) // no worker polls its queue
	poor := withWorker(t, "AZURE_STORAGE_CONNECTION_STRING=", "AZURE_STORAGE_QUEUE_URL=",
		"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null")
	elsewhere := func(env string) *harness.Stack { return harness.Start(t, harness.Options{Env: []string{env}}) }
	unset := s.Name("unset")
	s.Temporal("operator", "namespace", "create", "--namespace", unset).OK(t)
	paused := withWorker(t)
	paused.Starter("throughput", "pause", "--all", "--reason", "maintenance").OK(t)

	job := `{"jobs":[{"id":"look","activity":"S3.List","heartbeat":"15s","input":{"bucket":"` + s.NewBucket() + `"}}]}`
	completed, stream, absent, region := s.Name("completed"), s.NewStream(1), s.Name("absent"), "(region us-east-1, endpoint http://127.0.0.1:"
	s.StarterWith(job, "request", "run", "--id", completed, "-f", "-", "--wait").OK(t)
	s.StarterWith(job, "request", "run", "--id", completed, "-f", "-", "--wait", "--again").OK(t)
	s.Starter("producer", "run", absent).OK(t)
	s.Starter("producer", "add", absent, "--data", "x", "--partition-key", "k").OK(t)
	throttled := s.NewStream(1)
	s.Guard.Inject(t, harness.Fault{Service: harness.Kinesis, Operation: "PutRecords", Target: throttled, Status: 400, Code: "ProvisionedThroughputExceededException"})
	record := `{"StreamName":"` + stream + `","Records":[{"Data":"eA==","PartitionKey":"a"}]}`
	unpolled := file(t, `{"jobs":[{"id":"a","activity":"x","taskQueue":"nobody-polls-this"}]}`)
	failedFirst := s.Name("quiescence")
	s.Temporal("workflow", "start", "--type", "Quiescence", "--task-queue", s.TaskQueue, "--workflow-id", failedFirst, "--input", "{}").OK(t)

	for name, m := range map[string]mistake{
		"records put by a worker without credentials": {stack: poor, exits: 1, tells: []string{"AccessDenied", "AWS_ACCESS_KEY_ID"},
			args: []string{"kinesis", "put-records", "--wait", "--cli-input-json", record}},
		"a watch without a source":           {stack: s, exits: 2, tells: []string{"source: required"}, args: []string{"quiescence", "run", "--repeats", "3"}},
		"a claimer of a queue Azure refuses": {stack: s, exits: 2, tells: []string{"queues[0].name"}, args: []string{"claim", "run", "--queue", "Demo_Tasks"}},
		"the status of a run that failed in its first task": {stack: s, exits: 1, later: true, tells: []string{"has ended: Failed", "source: required"},
			args: []string{"quiescence", "status", failedFirst}},
		"a wait without a worker": {stack: nobody, waits: true, tells: []string{"no worker polls queue " + nobody.TaskQueue},
			args: []string{"request", "run", "-f", unpolled, "--wait"}},
		"a wait on a job whose queue nobody polls": {stack: s, waits: true, tells: []string{"RUNNING 0/1; waits for a worker: no worker polls queue nobody-polls-this"},
			args: []string{"request", "run", "-f", unpolled, "--wait"}},
		"a job whose queue nobody polls, not waited for": {stack: s, tells: []string{"no worker polls queue nobody-polls-this"},
			args: []string{"request", "run", "-f", unpolled}},
		"a wait on a paused budget": {stack: paused, waits: true, tells: []string{"is paused"},
			args: []string{"request", "run", "--wait", "-f", file(t, `{"jobs":[{"id":"a","activity":"DynamoDB.ListTables","heartbeat":"15s","input":{}}]}`)}},
		"a put to a stream that throttles": {stack: s, waits: true, tells: []string{"last error: ProvisionedThroughputExceededException"},
			args: []string{"kinesis", "put-records", "--wait", "--cli-input-json", strings.Replace(record, stream, throttled, 1)}},
		"a watch of a missing table": {stack: s, waits: true, tells: []string{"last error:", "NotFound", region},
			args: []string{"quiescence", "run", "--table", absent, "--counter", "b", "--delay", "1s", "--wait"}},
		"a watch that never could poll": {stack: s, exits: 1, tells: []string{"ended: deadline; last error: ", `"lastError": "DynamoDB.GetItem`},
			args: []string{"quiescence", "run", "--table", absent, "--counter", "b", "--delay", "1s", "--deadline", "3s", "--wait"}},
		"a claimer whose worker has no Azure settings": {stack: poor, tells: []string{"no worker polls queue " + poor.TaskQueue + "-azure"},
			args: []string{"claim", "run", s.Name("claimer"), "--queue", "tasks"}},
		"a wait on such a claimer": {stack: poor, waits: true, tells: []string{"no worker polls queue " + poor.TaskQueue + "-azure"},
			args: []string{"claim", "run", s.Name("claimer"), "--queue", "tasks", "--wait"}},
		"the buffer of a missing stream": {stack: s, exits: 3, later: true, tells: []string{`"lastError": "`, absent}, args: []string{"producer", "status", absent}},
		"a flush to a missing stream": {stack: s, exits: 3, later: true, tells: []string{"1 record not sent yet; last error: "},
			args: []string{"producer", "flush", absent, "--answer-within", "1s"}},
		"a namespace that is missing": {stack: elsewhere("TEMPORAL_NAMESPACE=absent"), exits: 1, tells: []string{"temporal operator namespace create --namespace absent"},
			args: []string{"request", "list"}},
		"a run in a namespace that is missing": {stack: elsewhere("TEMPORAL_NAMESPACE=absent"), exits: 1, tells: []string{"temporal operator namespace create --namespace absent"},
			args: []string{"quiescence", "run", "--bucket", "b"}},
		"a list in a namespace without set-up": {stack: elsewhere("TEMPORAL_NAMESPACE=" + unset), exits: 1, later: true, tells: []string{"starter setup"},
			args: []string{"request", "list"}},
		"an address where nobody listens": {stack: elsewhere("TEMPORAL_ADDRESS=127.0.0.1:1"), exits: 1, tells: []string{"TEMPORAL_ADDRESS", "connection refused"},
			args: []string{"request", "status", "x"}},
		"a host that nobody knows": {stack: elsewhere("TEMPORAL_ADDRESS=nowhere.invalid:7233"), exits: 1, tells: []string{"TEMPORAL_ADDRESS", "lookup nowhere.invalid"},
			args: []string{"request", "status", "x"}},
		"a table in another region": {stack: s, exits: 1, tells: []string{"NotFound", region},
			args: []string{"dynamodb", "get-item", "--wait", "--cli-input-json", `{"TableName":"` + absent + `","Key":{"id":{"S":"1"}}}`}},
		"a stream in another region": {stack: s, exits: 1, tells: []string{"NotFound", region},
			args: []string{"kinesis", "put-records", "--wait", "--cli-input-json", strings.Replace(record, stream, absent, 1)}},
		"an Azure queue that is missing": {stack: s, exits: 1, tells: []string{"NotFound", "(endpoint http://127.0.0.1:", "--create"},
			args: []string{"claim", "enqueue", s.Name("azure"), "--task-id", "a"}},
		"an argument that the document lacks": {stack: s, exits: 1, tells: []string{`jobs[0].input.bucket.$from: \"args.bucket\": it is not in args (line 5)`, "jobs[0].heartbeat: none", "(line 3)"},
			stdin: "type: x\njobs:\n- id: a\n  activity: S3.List\n  input: {bucket: {$from: args.bucket}}\n", args: []string{"request", "validate", "-f", "-"}},
		"the ID of a completed request": {stack: s, exits: 1, tells: []string{completed + " has completed", "--again"}, stdin: job,
			args: []string{"request", "run", "--id", completed, "-f", "-"}},
		"a workflow that is not there":             {stack: s, exits: 1, tells: []string{"no workflow " + absent}, args: []string{"request", "status", absent}},
		"a dry run of what has no equivalent":      {stack: s, exits: 2, tells: []string{"no temporal command does the same"}, args: []string{"setup", "--dry-run"}},
		"a command that is misspelt":               {stack: s, exits: 2, tells: []string{`did you mean "request"?`}, args: []string{"requst", "list"}},
		"a flag that there is not":                 {stack: s, exits: 2, tells: []string{"unknown flag --colour"}, args: []string{"request", "run", "--colour"}},
		"a budget's name without its service":      {stack: s, exits: 2, tells: []string{"orders"}, args: []string{"throughput", "pause", "orders"}},
		"neither one request nor a query":          {stack: s, exits: 2, tells: []string{"give either the ID of a request or --query"}, args: []string{"request", "stop"}},
		"a message to a request that has ended":    {stack: s, exits: 1, tells: []string{"has ended: Completed"}, args: []string{"quiescence", "stop", completed}},
		"a message to a claimer that is not there": {stack: nobody, exits: 1, tells: []string{"no workflow claim/" + absent}, args: []string{"claim", "drain", absent}},
		"a document that can't be read at all":     {stack: s, exits: 2, tells: []string{"no such file"}, args: []string{"request", "run", "-f", "/nowhere.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.make(t)
		})
	}
}
