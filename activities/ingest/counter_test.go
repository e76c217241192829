package ingest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc"

	"sluice/activities"
	"sluice/internal/wire"
)

// counter is a Temporal with a counter that ingestions have joined.
type counter struct {
	client.Client
	holders  []string
	gone     bool
	running  map[string]string // first run IDs of ingestions that run, by workflow ID
	away     map[string]bool   // nobody knows about these
	counts   []int64           // answers to a count of workflows; a negative one is an error
	queries  []string
	left     []string
	leaveErr error
}

// noHistory is a server whose history of the activity's own workflow is not there.
type noHistory struct {
	workflowservice.WorkflowServiceClient
}

func (noHistory) GetWorkflowExecutionHistory(context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest, ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return nil, serviceerror.NewNotFound("no history")
}

func (c *counter) WorkflowService() workflowservice.WorkflowServiceClient { return noHistory{} }

type leaving struct {
	client.WorkflowUpdateHandle
	holders []string
}

func (l leaving) Get(_ context.Context, v any) error {
	*v.(*wire.CountHolders) = wire.CountHolders{Holders: l.holders}
	return nil
}

func (c *counter) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	switch {
	case c.gone:
		return nil, serviceerror.NewNotFound("workflow execution already completed")
	case c.leaveErr != nil:
		return nil, c.leaveErr
	case o.UpdateName != wire.UpdateLeave || o.WorkflowID != "count/n":
		return nil, errors.New("not asked for")
	}
	holder := o.Args[0].(wire.CountHolder).Holder
	c.left = append(c.left, holder)
	c.holders = slices.DeleteFunc(slices.Clone(c.holders), func(h string) bool { return h == holder })
	return leaving{holders: c.holders}, nil
}

func (c *counter) DescribeWorkflow(_ context.Context, id, _ string) (*client.WorkflowExecutionDescription, error) {
	first, there := c.running[id]
	switch {
	case c.away[id]:
		return nil, serviceerror.NewUnavailable("away")
	case !there:
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	status := enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	if rest, over := strings.CutPrefix(first, "ended "); over {
		first, status = rest, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	}
	return &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status, FirstRunId: first},
	}}, nil
}

func (c *counter) CountWorkflow(_ context.Context, in *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	c.queries = append(c.queries, in.GetQuery())
	n := c.counts[0]
	if len(c.counts) > 1 {
		c.counts = c.counts[1:]
	}
	if n < 0 {
		return nil, serviceerror.NewUnavailable("away")
	}
	return &workflowservice.CountWorkflowExecutionsResponse{Count: n}, nil
}

// Whoever leaves takes those along that have surely ended without leaving, and nobody
// else: a counter must not end under one that needs it.
func TestLeavingTakesOutThoseThatHaveEndedForCertain(t *testing.T) {
	c := &counter{
		holders: []string{"w/run", "runs/r1", "terminated/r1", "gone/r1", "again/r1", "with/slash/r1", "unseen/r1"},
		running: map[string]string{"runs": "r1", "terminated": "ended r1", "again": "r2", "with/slash": "r1"},
		away:    map[string]bool{"unseen": true},
	}
	require.NoError(t, (&Activities{Temporal: c}).LeaveCount(t.Context(), plan))
	require.Equal(t, []string{"w/run", "terminated/r1", "gone/r1", "again/r1"}, c.left)
	require.Equal(t, []string{"runs/r1", "with/slash/r1", "unseen/r1"}, c.holders)
}

func TestACounterThatHasEndedIsLeft(t *testing.T) {
	require.NoError(t, (&Activities{Temporal: &counter{gone: true}}).LeaveCount(t.Context(), plan))
	require.Error(t, (&Activities{Temporal: &counter{leaveErr: serviceerror.NewUnavailable("away")}}).LeaveCount(t.Context(), plan))
}

func awaitTasks(t *testing.T, c *counter, in wire.IngestAwait) (out wire.IngestTasks) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions((&Activities{Temporal: c}).AwaitTasks, activity.RegisterOptions{Name: wire.IngestAwaitTasks.Name})
	value, err := env.ExecuteActivity(wire.IngestAwaitTasks.Name, in)
	require.NoError(t, err)
	require.NoError(t, value.Get(&out))
	return out
}

func TestTasksAreAwaitedUntilAllHaveEndedOrTheDeadline(t *testing.T) {
	c := &counter{counts: []int64{-1, 5}}
	require.Equal(t, wire.IngestTasks{Ended: 3, Total: 3}, awaitTasks(t, c, wire.IngestAwait{Run: "run", Total: 3}), "a task may have run twice")
	require.Len(t, c.queries, 2, "a server that is away is asked again")
	require.Contains(t, c.queries[0], "WorkflowId STARTS_WITH 'task/run-'")

	late := wire.IngestAwait{Run: "run", Total: 3, Deadline: time.Now().Add(-time.Second)}
	require.Equal(t, wire.IngestTasks{Ended: 1, Total: 3}, awaitTasks(t, &counter{counts: []int64{1}}, late))
}

// queue is an Azure queue that keeps what it is sent; after refuseAfter it refuses.
type queue struct {
	mu          sync.Mutex
	texts       []string
	refuseAfter int
}

func (q *queue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	raw, err := io.ReadAll(r.Body)
	var message struct{ MessageText string }
	if err != nil || xml.Unmarshal(raw, &message) != nil || len(q.texts) == q.refuseAfter {
		w.Header().Set("x-ms-error-code", "QueueNotFound")
		w.WriteHeader(http.StatusNotFound)
		return
	}
	q.texts = append(q.texts, message.MessageText)
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "<QueueMessagesList/>")
}

func enqueueFrom(t *testing.T, objects, from, refuseAfter int) ([]string, error) {
	t.Helper()
	q := &queue{refuseAfter: refuseAfter}
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	azure, err := azqueue.NewServiceClientWithNoCredential(server.URL, nil)
	require.NoError(t, err)
	keys := make([]string, objects)
	for n := range keys {
		keys[n] = "in/<&>"
	}
	_, s3 := newStore(t, map[string]string{"rep/reports/run/manifest.jsonl": manifest(t, keys...)})
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions((&Activities{S3: s3, Azure: azure}).Enqueue, activity.RegisterOptions{Name: wire.IngestEnqueue.Name})
	if from > 0 {
		env.SetHeartbeatDetails(enqueued{Sent: int64(from)})
	}
	_, err = env.ExecuteActivity(wire.IngestEnqueue.Name, plan)
	return q.texts, err
}

// Each object has a task of its own name, which does not change in a repeat; a repeat
// goes on from the last batch that was on the queue.
func TestATaskPerObjectGoesOnTheQueueFromTheCheckpointOn(t *testing.T) {
	for from, want := range map[int]int{0: 70, 64: 6} {
		texts, err := enqueueFrom(t, 70, from, 1000)
		require.NoError(t, err)
		tasks := map[string]bool{}
		for _, text := range texts {
			raw, err := base64.StdEncoding.DecodeString(text)
			require.NoError(t, err)
			var task struct {
				TaskID  string
				Payload struct {
					Args struct{ Bucket, Key string }
					Jobs []struct{ ID string }
				}
			}
			require.NoError(t, json.Unmarshal(raw, &task))
			tasks[task.TaskID] = true
			require.Equal(t, "in/<&>", task.Payload.Args.Key)
			require.Len(t, task.Payload.Jobs, 3)
		}
		require.Len(t, tasks, want)
		require.True(t, tasks["run-69"])
		require.Equal(t, from == 0, tasks["run-0"])
	}
	_, err := enqueueFrom(t, 10, 0, 3)
	require.Equal(t, activities.TypeNotFound, activities.TypeOf(err))
}

// What a task writes down is what the summary reads.
func TestTheJobsOfATaskHandOnWhatTheLastWritesDown(t *testing.T) {
	raw, err := json.Marshal(workOn(plan, 7, listedObject{Key: "in/a"}))
	require.NoError(t, err)
	var work struct {
		Jobs []struct {
			ID, Activity string
			After        []string
			Input        map[string]json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(raw, &work))
	var before []string
	for n, want := range []string{wire.S3Describe, wire.KinesisPutObject, "DynamoDB.PutItem"} {
		require.Equal(t, want, work.Jobs[n].Activity)
		require.True(t, wire.OwnJob(work.Jobs[n].Activity))
		require.Equal(t, before, work.Jobs[n].After)
		before = []string{work.Jobs[n].ID}
	}
	require.JSONEq(t, `{"$from":"jobs.describe.object"}`, string(work.Jobs[1].Input["Object"]))
	require.JSONEq(t, `true`, string(work.Jobs[1].Input["Envelope"]), "the records carry their ids")
	require.JSONEq(t, `{"id":{"S":"##ingest/run/7"},"object":{"S":"s3://src/in/a"},
		"records":{"N":{"$from":"to_string(jobs.stream.RecordCount)"}},"stored":{"N":{"$from":"to_string(jobs.stream.StoredRecordCount)"}}}`, string(work.Jobs[2].Input["Item"]))
}
