package sluice

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/internal/wire"
)

// TestNobodyElseSetsWhatARunCarries: what a workflow hands to its next run is
// unknown to everybody else, and is not named to them.
func TestNobodyElseSetsWhatARunCarries(t *testing.T) {
	for _, c := range []struct{ workflowType, document, member string }{
		{wire.TypeRequest, `{"jobs":[{"id":"a","activity":"A"}],`, "carried"},
		{wire.TypeResumeSuspended, `{`, "carried"},
		{wire.TypeThroughput, `{"resource":"dynamodb/eu-west-1/orders/read",`, "carried"},
		{wire.TypeProducer, `{"stream":"s",`, "carried"},
		{wire.TypeQuiescence, `{"source":{"signal":{}},`, "carried"},
		{wire.TypeCountObjects, `{"queueUrl":"http://127.0.0.1/q","table":"t",`, "carried"},
		{wire.TypeClaimTasks, `{"queues":[{"name":"tasks"}],`, "resumed"},
	} {
		t.Run(c.workflowType, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			RegisterWorkflows(env)
			env.ExecuteWorkflow(c.workflowType, json.RawMessage(c.document+`"`+c.member+`":{}}`))
			var application *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &application)
			require.Equal(t, activities.TypeInvalidInput, application.Type())
			require.Regexp(t, c.member+": unknown field; known are ", application.Message())
			_, known, _ := strings.Cut(application.Message(), "known are ")
			require.NotContains(t, known, c.member)
		})
	}
}
