// Package webui_test looks at workflows as a person at the Temporal Web UI does: what
// a list finds by search attributes, and what a page says.
package webui_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// run starts a workflow through the starter, of this document.
func run(t *testing.T, s *harness.Stack, group, id, document string) {
	t.Helper()
	args := []string{group, "run", "-f", "-"}
	switch group {
	case "claim":
		args = append(args, id)
	case "producer":
	default:
		args = append(args, "--id", id)
	}
	s.StarterWith(document, args...).OK(t)
}

// awaitListed waits until a list that filters like that finds the workflow.
func awaitListed(t *testing.T, s *harness.Stack, id, filter string) {
	t.Helper()
	harness.Await(t, id+" is listed where "+filter, func(ctx context.Context) error {
		found, err := s.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'Running' AND %s", id, filter)})
		if err == nil && found.GetCount() != 1 {
			described, _ := s.Client.DescribeWorkflow(ctx, id, "")
			err = fmt.Errorf("%d found; it has %v, and waits for %v", found.GetCount(),
				described.RawResponse.GetWorkflowExecutionInfo().GetSearchAttributes(), described.RawResponse.GetPendingActivities())
		}
		return err
	})
}

// events are those of a type in the history of a workflow.
func events(t *testing.T, s *harness.Stack, id string, of enumspb.EventType) (found []*historypb.HistoryEvent) {
	t.Helper()
	history := s.Client.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		if event.GetEventType() == of {
			found = append(found, event)
		}
	}
	return found
}
