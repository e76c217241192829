package rollover_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/tests/harness"
	"sluice/workflows"
)

// Ends that come at once: a refused document, nothing to take in, a cancel.
func TestWorkflowsEndAtOnceByARefusalOrACancel(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	fails := func(kind, document, errType, scenario string) {
		g := start(t, s, kind, s.Name("refused"), document)
		var application *temporal.ApplicationError
		require.True(t, errors.As(s.Client.GetWorkflow(t.Context(), g.id, "").Get(t.Context(), nil), &application))
		require.Equal(t, errType, application.Type())
		g.Record(g.id, kind, scenario)
	}
	fails(workflows.TypeRequest, `{"jobs":[{"id":"","activity":"A"}],"colour":1}`, activities.TypeInvalidInput, "refused")
	fails(workflows.TypeIngest, fmt.Sprintf(`{"bucket":%q,"queue":"tasks","stream":%q,"table":%q,"delivery":{"bucket":%q,"notifications":%q}}`,
		s.NewBucket(), s.NewStream(1), s.NewTable(harness.Table{}), s.NewBucket(), s.NewQueue(nil)), activities.TypeNotFound, "nothing-to-take-in")

	g := start(t, s, workflows.TypeCountObjects, s.Name("count"), fmt.Sprintf(`{"queueUrl":%q,"table":%q}`, s.NewQueue(nil), s.NewTable(harness.Table{})))
	_, err := s.Client.QueryWorkflow(t.Context(), g.id, "", "status")
	require.NoError(t, err)
	require.NoError(t, s.Client.CancelWorkflow(t.Context(), g.id, ""))
	var cancelled *temporal.CanceledError
	require.True(t, errors.As(s.Client.GetWorkflow(t.Context(), g.id, "").Get(t.Context(), nil), &cancelled))
	g.Record(g.id, workflows.TypeCountObjects, "cancelled")
}
