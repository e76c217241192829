package workflows

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
)

// A check that was added refuses new runs, and lets those go on that began
// without it; what no run was ever let through with stays refused.
func TestAddedChecksRefuseNewRunsOnly(t *testing.T) {
	quiet, claims, ingest := defaultQuiescenceInput(), defaultClaimTasks(), defaultIngestInput()
	for name, c := range map[string]struct {
		into              addedChecker
		added, old, fault string
	}{
		"then": {&quiet, `{"source":{"signal":{}},"then":[{"http":{"url":"https://x/","auth":"two words"}}]}`, `{}`, "then[0].http.auth"},
		"claim": {&claims, `{"queues":[{"name":"` + strings.Repeat("q", 60) + `"}]}`,
			`{"queues":[{"name":"` + strings.Repeat("q", 64) + `"}]}`, "queues[0].name"},
		"ingest": {&ingest, `{"bucket":"b","queue":"Upper","stream":"s","table":"t","delivery":{"bucket":"d","notifications":"http://q/1"}}`,
			`{"queue":"Upper"}`, "queue: "},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(raw string, before bool) error {
				var suite testsuite.WorkflowTestSuite
				env := suite.NewTestWorkflowEnvironment()
				if before {
					env.OnGetVersion(changeAddedChecks, workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion).Maybe()
				}
				env.ExecuteWorkflow(func(ctx workflow.Context) error { return decodeStart(ctx, name, json.RawMessage(raw), c.into) })
				return env.GetWorkflowError()
			}
			err := run(c.added, false)
			require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err))
			require.ErrorContains(t, err, c.fault)
			require.NoError(t, run(c.added, true))
			require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(run(c.old, true)))
		})
	}
}
