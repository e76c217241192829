package replay_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"sluice/internal/wire"
)

// pathsIn are what a history shows of its workflow: how it began and ended, the messages
// that it got, how its activities and children ended.
func pathsIn(history *historypb.History) map[string]bool {
	paths := map[string]bool{}
	kind := typeOf(history)
	add := func(format string, args ...any) { paths[kind+" "+fmt.Sprintf(format, args...)] = true }
	for _, e := range history.GetEvents() {
		switch {
		case e.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId() != "":
			add("goes on from another run")
		case e.GetWorkflowExecutionSignaledEventAttributes() != nil:
			add("signal %s", e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName())
		case e.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil:
			add("update %s", e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetName())
		case e.GetWorkflowExecutionFailedEventAttributes() != nil:
			add("fails %s", e.GetWorkflowExecutionFailedEventAttributes().GetFailure().GetApplicationFailureInfo().GetType())
		case e.GetActivityTaskTimedOutEventAttributes() != nil:
			add("activity timed out %s", e.GetActivityTaskTimedOutEventAttributes().GetFailure().GetTimeoutFailureInfo().GetTimeoutType())
		case e.GetActivityTaskFailedEventAttributes() != nil:
			add("activity failed %s", e.GetActivityTaskFailedEventAttributes().GetFailure().GetApplicationFailureInfo().GetType())
		default:
			if name, ok := plain[e.GetEventType()]; ok {
				add("%s", name)
			}
		}
	}
	return paths
}

var plain = map[enumspb.EventType]string{
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:              "completes",
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:               "is canceled",
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:       "continues as new",
	enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:                    "activity canceled",
	enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:        "child completes",
	enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:           "child fails",
	enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:         "child canceled",
	enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:       "child terminated",
	enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:        "child timed out",
	enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED:     "child not started",
	enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:                   "workflow task timed out",
	enumspb.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED:      "tells another workflow",
	enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: "can't tell another workflow",
}

// wanted are the paths that a history is wanted of, by workflow type.
var wanted = map[string][]string{
	wire.TypeRequest: {
		"update suspend", "update resume", "update stop", "update claim", "update unclaim", "signal suspend", "signal resume", "signal stop", "signal stopping",
		"completes", "fails RequestFailed", "fails Expired", "fails InvalidInput", "is canceled", "continues as new", "goes on from another run",
		"activity canceled", "activity failed Ambiguous", "activity failed Throttled", "activity failed Unavailable", "activity failed WorkerStopping",
		"activity timed out Heartbeat", "activity timed out StartToClose", "activity timed out ScheduleToStart",
		"child completes", "child fails", "child canceled", "child terminated", "child timed out", "child not started", "workflow task timed out",
	},
	wire.TypeResumeSuspended: {"signal stop", "completes", "is canceled", "goes on from another run"},
	wire.TypeThroughput: {
		"update lease", "update release", "update set", "update pause", "update unpause", "signal pause", "signal unpause", "completes", "continues as new", "goes on from another run",
	},
	wire.TypeProducer:     {"update add", "update flush", "update start", "update stop", "is canceled", "goes on from another run", "workflow task timed out"},
	wire.TypePoll:         {"completes", "activity failed"},
	wire.TypeQuiescence:   {"update tune", "update finish", "update stop", "signal observed", "completes", "fails InvalidInput", "is canceled", "continues as new", "goes on from another run", "activity canceled", "activity failed WorkerStopping", "activity timed out Heartbeat", "tells another workflow"},
	wire.TypeCountObjects: {"update drain", "update stop", "update join", "update leave", "completes", "is canceled", "goes on from another run", "activity canceled", "activity failed WorkerStopping", "activity timed out Heartbeat"},
	wire.TypeClaimTasks:   {"update capacity", "update drain", "update stop", "signal finished", "completes", "is canceled", "continues as new", "goes on from another run", "activity canceled", "activity failed WorkerStopping", "activity timed out Heartbeat"},
	wire.TypeTask:         {"signal stop", "completes", "continues as new", "goes on from another run", "child completes", "child fails", "child canceled", "child terminated", "activity failed Conflict", "activity failed Unavailable"},
	wire.TypeIngest:       {"completes", "is canceled", "fails Conflict", "fails NotFound", "goes on from another run", "child completes", "child canceled", "child not started"},
}

// missing are those of which there is none yet.
var missing = []string{
	"CountObjects goes on from another run",
	"Ingest goes on from another run",
	"Poll activity failed",
	"Quiescence continues as new",
	"Request activity timed out ScheduleToStart",
	"Request child fails",
	"Request child terminated",
	"Request child timed out",
	"ResumeSuspended is canceled",
}

// TestEveryPathHasAHistory names what no replay goes through: a path that is wanted has a
// history, or stands in the list of those that are missing and has none.
func TestEveryPathHasAHistory(t *testing.T) {
	recorded := map[string]bool{}
	histories, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	for _, file := range histories {
		maps.Copy(recorded, pathsIn(load(t, file)))
	}
	var lacks []string
	for kind, paths := range wanted {
		for _, path := range paths {
			if !recorded[kind+" "+path] {
				lacks = append(lacks, kind+" "+path)
			}
		}
	}
	slices.Sort(lacks)
	require.Equal(t, missing, lacks, "record what is missing by a test that calls Record, with SLUICE_RECORD=1")
}
