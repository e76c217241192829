package claiming

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"sluice/activities/taskservice"
	"sluice/internal/wire"
)

// server is what Temporal answers to the start of a task and to a look at it.
type server struct {
	starts  error
	started []client.StartWorkflowOptions
	runs    enumspb.WorkflowExecutionStatus // of the task that is there; 0: none is
	by      wire.ClaimerRef
}

func (s *server) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	s.started = append(s.started, options)
	return nil, s.starts
}

func (s *server) DescribeWorkflow(context.Context, string, string) (*client.WorkflowExecutionDescription, error) {
	if s.runs == 0 {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	memo, err := converter.GetDefaultDataConverter().ToPayload(s.by)
	if err != nil {
		return nil, err
	}
	return &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
			Status: s.runs, Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{memoClaimer: memo}}}}}, nil
}

// startOne has a starter start one task, of which the workflow and its ledger know
// what is given.
type startOne struct {
	server  server
	control wire.ClaimControl
	known   bool  // an earlier try left its start open
	beat    error // the heartbeat that records it fails
	payload []byte

	queue   *shelf
	place   *place
	books   *ledger
	slots   int
	service *taskservice.Client
	spec    wire.ClaimSpec
	state   startState
}

var (
	ourClaimer   = wire.ClaimerRef{WorkflowID: "claim/q", FirstRunID: "first"}
	otherClaimer = wire.ClaimerRef{WorkflowID: "claim/q", FirstRunID: "of an earlier one"}
	exists       = serviceerror.NewWorkflowExecutionAlreadyStarted("exists", "", "")
	running      = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	completed    = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
)

func (o *startOne) run(t *testing.T) {
	t.Helper()
	o.queue = newShelf("a")
	o.place = &place{queue: o.queue}
	b := testInbox(o.place)
	o.books = b.books
	if o.known {
		o.books.enter(wire.StartedTask{TaskID: "a"}, time.Now())
	}
	s := &starter{
		claimer: ourClaimer, taskQueue: "sluice", temporal: &o.server, service: o.service, books: o.books, inbox: b, log: silent{}, meter: client.MetricsNopHandler,
		beat:    func(context.Context) error { return o.beat },
		allowed: func(context.Context) (wire.ClaimControl, error) { return o.control, nil },
		ask:     func(context.Context, bool) (wire.ClaimControl, error) { return o.control, nil },
	}
	s.spec.Claim = o.spec
	h := b.hold(o.queue, taken("a", 1))
	_, ok := b.read(h)
	require.True(t, ok)
	c := &candidate{held: h, payload: o.payload}
	o.slots = s.startAll(t.Context(), []*candidate{c})
	o.state = c.state
	b.removals.Wait()
}

// tasks are the books after a start: the number entered, and of these the sure ones.
func (o *startOne) tasks() (entered, sure int) {
	var m wire.PollMemory
	o.books.remember(&m)
	for _, t := range m.Tasks {
		if entered++; t.Sure {
			sure++
		}
	}
	return entered, sure
}

// What becomes of message, books and slot for each way in which a start may end.
func TestEveryEndOfAStart(t *testing.T) {
	lost := errors.New("no answer")
	invalid := serviceerror.NewInvalidArgument("no")
	counted := wire.ClaimControl{Tasks: []wire.StartedTask{{TaskID: "a"}}}
	for name, c := range map[string]struct {
		startOne
		state         startState
		removed       bool // the message; kept otherwise
		entered, sure int
		slots         int
		aside         int
	}{
		"it starts":                              {startOne{}, startDone, true, 1, 1, 1, 0},
		"no answer, and it runs":                 {startOne{server: server{starts: lost, runs: running, by: ourClaimer}}, startDone, true, 1, 1, 1, 0},
		"no answer, and it is not there yet":     {startOne{server: server{starts: lost}}, startUnsure, false, 1, 0, 1, 0},
		"started by an earlier try of ours":      {startOne{server: server{starts: exists, runs: running, by: ourClaimer}, known: true}, startDone, true, 1, 1, 0, 0},
		"started and ended by an earlier try":    {startOne{server: server{starts: exists, runs: completed, by: ourClaimer}, known: true}, startDone, true, 1, 1, 0, 0},
		"started by us and not counted":          {startOne{server: server{starts: exists, runs: running, by: ourClaimer}}, startDone, true, 1, 1, 1, 0},
		"started by us and counted":              {startOne{server: server{starts: exists, runs: running, by: ourClaimer}, control: counted}, startOther, true, 0, 0, 0, 0},
		"counted, and entered before a crash":    {startOne{server: server{starts: exists, runs: running, by: ourClaimer}, known: true, control: counted}, startOther, true, 0, 0, 0, 0},
		"ended long ago":                         {startOne{server: server{starts: exists, runs: completed, by: ourClaimer}}, startOther, true, 0, 0, 0, 0},
		"another claimer's":                      {startOne{server: server{starts: exists, runs: running, by: otherClaimer}}, startOther, true, 0, 0, 0, 0},
		"refused for what the claimer adds":      {startOne{server: server{starts: invalid}}, startRefused, false, 0, 0, 0, 0},
		"refused with a large payload":           {startOne{server: server{starts: invalid}, payload: make([]byte, largePayload+1)}, startBad, true, 0, 0, 0, 1},
		"not recorded":                           {startOne{beat: lost}, startFailed, false, 0, 0, 0, 0},
		"not recorded, and begun by another try": {startOne{beat: lost, known: true}, startFailed, false, 1, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := &c.startOne
			o.run(t)
			require.Equal(t, c.state, o.state)
			entered, sure := o.tasks()
			require.Equal(t, c.entered, entered, "in the books")
			require.Equal(t, c.sure, sure, "surely started")
			require.Equal(t, c.slots, o.slots, "slots")
			require.Equal(t, c.removed, len(o.queue.removed) == 1, "deleted")
			require.Equal(t, !c.removed, len(o.queue.delays) == 1, "given back with a delay")
			require.Len(t, o.place.aside, c.aside, "copied aside")
			require.Equal(t, o.beat == nil, len(o.server.started) == 1, "nothing is started that is not recorded")
		})
	}
}

// A task begins under the claim that is its ID, with what is shown of it.
func TestStartOfATask(t *testing.T) {
	o := &startOne{}
	o.run(t)
	options := o.server.started[0]
	require.Equal(t, "task/a/0", options.ID)
	require.Equal(t, "sluice", options.TaskQueue)
	require.Equal(t, enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, options.WorkflowIDReusePolicy)
	require.Equal(t, 3, options.TypedSearchAttributes.Size())
	require.True(t, options.EnableEagerStart)
}

// What is claimed after stop is handed back to the service and not started.
func TestClaimAfterStopIsHandedBack(t *testing.T) {
	var told []string
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told = append(told, r.URL.Path) }))
	defer service.Close()
	o := &startOne{
		control: wire.ClaimControl{State: wire.ClaimStopped}, service: &taskservice.Client{HTTP: service.Client()},
		spec: wire.ClaimSpec{Service: service.URL, WorkerGroup: "g", WorkerID: "w"},
	}
	o.run(t)
	require.Equal(t, startBack, o.state)
	require.Empty(t, o.server.started)
	require.Len(t, told, 1)
	require.True(t, strings.HasSuffix(told[0], "/task/a/runs/0/exception"), told[0])
	require.Equal(t, []string{"a"}, o.queue.removed)
	entered, _ := o.tasks()
	require.Zero(t, entered)
}
