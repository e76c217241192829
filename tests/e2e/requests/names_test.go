package requests_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/workflows"
	"sluice/workflows/request"
)

// TestNamesThatOnlyTemporalRefusesAreRefusedAtTheDoor, by every workflow: the server
// would fail the task that uses them, again and again.
func TestNamesThatOnlyTemporalRefusesAreRefusedAtTheDoor(t *testing.T) {
	b := newBench(t)
	euros, long := strings.Repeat("€", 1000), strings.Repeat("n", 3000)
	watch := func(rest string) string {
		return `{"source":{"signal":{}},"deadline":"1h","then":[` + rest + `]}`
	}
	claim := func(rest string) string { return `{"queues":[{"name":"tasks"}],` + rest + `}` }
	ingest := func(bucket, queue string) string {
		return fmt.Sprintf(`{"bucket":%q,"queue":"tasks","stream":"s","table":"t","delivery":{"bucket":"d","notifications":%q}}`, bucket, queue)
	}
	for _, c := range []struct{ workflowType, document, id, path string }{
		{workflows.TypeRequest, `{"type":"` + euros + `","jobs":[{"id":"a","activity":"x"}]}`, "", "type: 3002 bytes"},
		{workflows.TypeRequest, `{"jobs":[{"id":"a","activity":"` + euros + `"}]}`, "", "jobs[0].activity: 3000 bytes"},
		{workflows.TypeRequest, `{"jobs":[{"id":"a","workflow":"` + euros + `"}]}`, "", "jobs[0].workflow: 3000 bytes"},
		{workflows.TypeRequest, `{"jobs":[{"id":"a","activity":"x","taskQueue":"/_sys/foo"}]}`, "", "jobs[0].taskQueue: begins with /_sys/"},
		{workflows.TypeRequest, `{"fairnessKey":"` + strings.Repeat("€", 22) + `","jobs":[{"id":"a","activity":"x"}]}`, "", "fairnessKey: 66 bytes"},
		{workflows.TypeRequest, `{"jobs":[{"id":"a","workflow":"x"}]}`, strings.Repeat("i", 990), "workflow ID: 990 bytes, and up to 13 more"},
		{workflows.TypeQuiescence, `{"source":{"activity":{"name":"` + long + `"}}}`, "", "source.activity.name: 3000 bytes"},
		{workflows.TypeQuiescence, `{"source":{"activity":{"name":"` + strings.Repeat("<", 400) + `"}}}`, "", "source.activity: 2402 bytes as a search attribute"},
		{workflows.TypeQuiescence, `{"source":{"activity":{"name":"x","taskQueue":"/_sys/foo"}}}`, "", "source.activity.taskQueue: begins with /_sys/"},
		{workflows.TypeQuiescence, `{"source":{"activity":{"name":"x"}}}`, strings.Repeat("i", 996), "workflow ID: 996 bytes, and up to 5 more"},
		{workflows.TypeQuiescence, `{"source":{"sqs":{"queueUrl":"http://q/` + long + `"}}}`, "", "source.sqs: 3002 bytes as a search attribute"},
		{workflows.TypeQuiescence, `{"source":{"s3":{"bucket":"` + long + `"}}}`, "", "source.s3: 3002 bytes as a search attribute"},
		{workflows.TypeQuiescence, watch(`{"workflow":{"type":"x","id":"` + long[:1200] + `"}}`), "", "then[0].workflow.id: 1200 bytes"},
		{workflows.TypeQuiescence, watch(`{"workflow":{"type":"x","id":"` + long[:995] + `"}}`), "", "then[0].workflow.id: 995 bytes, and up to 11 more"},
		{workflows.TypeQuiescence, watch(`{"workflow":{"type":"` + long + `"}}`), "", "then[0].workflow.type: 3000 bytes"},
		{workflows.TypeQuiescence, watch(`{"workflow":{"type":"x","taskQueue":"/_sys/foo"}}`), "", "then[0].workflow.taskQueue: begins"},
		{workflows.TypeQuiescence, watch(`{"activity":{"name":"` + long + `","taskQueue":"/_sys/"}}`), "", "then[0].activity.name: 3000 bytes"},
		{workflows.TypeQuiescence, watch(`{"signal":{"workflowId":"` + long[:1200] + `","name":"` + long + `"}}`), "", "then[0].signal.workflowId: 1200 bytes"},
		{workflows.TypeQuiescence, watch(`{"activity":{"name":"x"}}`), strings.Repeat("i", 990), "workflow ID: 990 bytes, and up to 15 more"},
		{workflows.TypeClaimTasks, claim(`"run":{"workflow":"` + long + `"}`), "", "run.workflow: 3000 bytes"},
		{workflows.TypeClaimTasks, claim(`"run":{"workflow":"x","taskQueue":"/_sys/foo"}`), "", "run.taskQueue: begins with /_sys/"},
		{workflows.TypeClaimTasks, claim(`"fairnessKey":"` + long[:80] + `"`), "", "fairnessKey: 80 bytes"},
		{workflows.TypeTask, `{"taskId":"a","runId":0,"run":{"workflow":"` + long + `","taskQueue":"/_sys/foo"}}`, "", "run.workflow: 3000 bytes"},
		{workflows.TypeTask, `{"taskId":"a","runId":0,"run":{"workflow":"x"}}`, strings.Repeat("i", 997), "workflow ID: 997 bytes, and up to 4 more"},
		{workflows.TypeIngest, ingest(long, "http://q/q"), "", "bucket: 3002 bytes as a search attribute"},
		{workflows.TypeIngest, ingest("b", "http://q/"+long), "", "delivery.notifications: 3006 bytes"},
		{workflows.TypeIngest, ingest("b", "http://q/q"), strings.Repeat("i", 980), "workflow ID: 980 bytes, and up to 22 more"},
		{workflows.TypeCountObjects, `{"table":"t","queueUrl":"http://q/` + long + `"}`, "", "queueUrl: 3002 bytes as a search attribute"},
		{workflows.TypeThroughput, `{"resource":"dynamodb/here/` + long + `/read"}`, "", "resource: 3002 bytes as a search attribute"},
		{workflows.TypeResumeSuspended, `{"holder":"` + euros + `"}`, "", "holder: 3000 bytes"},
		{workflows.TypePoll, `{"name":"` + long + `","taskQueue":"/_sys/foo"}`, "", "name: 3000 bytes"},
	} {
		id := c.id
		if id == "" {
			id = b.Name("named")
		}
		run, err := b.c.ExecuteWorkflow(t.Context(), startOptions(id, b.TaskQueue), c.workflowType, json.RawMessage(c.document))
		require.NoError(t, err, c.path)
		err = run.Get(b.patient(), nil)
		var refused *temporal.ApplicationError
		require.True(t, errors.As(err, &refused), "%s: %v", c.path, err)
		require.Equal(t, activities.TypeInvalidInput, refused.Type(), c.path)
		require.Contains(t, refused.Message(), c.path)
		require.LessOrEqual(t, len(refused.Message()), 3_000, c.path)
	}
}

// TestLongestNamesAreTaken: what Temporal takes is not refused.
func TestLongestNamesAreTaken(t *testing.T) {
	b := newBench(t)
	name := strings.Repeat("€", 333) + "a"
	id := strings.Repeat("i", 1000-len("/sub/2147483647"))
	run, err := b.c.ExecuteWorkflow(t.Context(), startOptions(id, b.TaskQueue), workflows.TypeRequest, json.RawMessage(
		`{"type":"`+strings.Repeat("€", 682)+`","fairnessKey":"`+strings.Repeat("€", 21)+`","jobs":[
			{"id":"sub","workflow":"Request","input":{"jobs":[{"id":"a","activity":"Test.Job"}]}},
			{"id":"a","activity":"`+name+`","timeout":"1s"},{"id":"q","activity":"x","taskQueue":"`+name+`"}]}`))
	require.NoError(t, err)
	b.await(run, "the child is complete", func(s *request.Status) bool {
		return s.Jobs[0].State == jobchain.Complete && s.Jobs[2].State == jobchain.Running
	})
	b.must(run, workflows.UpdateStop, `{"grace":"0s"}`)
	require.Equal(t, jobchain.Stopped, b.result(run).State)
}

// TestWorkflowIDNeedNotBeASCII: the SDK puts it into a header that gRPC sends in
// ASCII only, and no task of such a workflow could be answered.
func TestWorkflowIDNeedNotBeASCII(t *testing.T) {
	p := newPrograms(t)
	p.StartWorker()
	p.startJobs()
	id := "request/größe-" + p.Name("r")
	p.Temporal("workflow", "start", "--type", workflows.TypeRequest, "--workflow-id", id, "--task-queue", p.TaskQueue,
		"--input", fmt.Sprintf(`{"jobs":[{"id":"a","activity":"Test.Job","taskQueue":%q}]}`, p.jobQueue)).OK(t)
	p.Temporal("workflow", "result", "--workflow-id", id).OK(t)
	require.Equal(t, jobchain.Complete, status(t, p.Starter("request", "status", id)).State)
}
