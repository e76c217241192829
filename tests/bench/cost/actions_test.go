package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of the server's metrics the counter of Actions is read, by namespace, and nothing else.
func TestActionsAreReadByNamespace(t *testing.T) {
	counted, err := parse(strings.NewReader(`# HELP action action counter
# TYPE action counter
action{action_type="grpc_QueryWorkflow",namespace="a",operation="QueryWorkflow",service_name="frontend"} 3
action{action_type="command_ScheduleActivityTask",namespace="a",operation="x",service_name="history"} 1
action{action_type="command_ScheduleActivityTask",namespace="a",operation="y",service_name="history"} 1.2e+01
action{action_type="grpc_QueryWorkflow",namespace="b",operation="QueryWorkflow",service_name="frontend"} 5
actions_other{namespace="a"} 7
`))
	require.NoError(t, err)
	require.Equal(t, map[string]actions{"a": {"QueryWorkflow": 3, "ScheduleActivityTask": 13}, "b": {"QueryWorkflow": 5}}, counted)
	later := actions{"QueryWorkflow": 4, "ScheduleActivityTask": 13, "SignalWorkflowExecution": 2}
	added := later.since(counted["a"])
	require.Equal(t, actions{"QueryWorkflow": 1, "SignalWorkflowExecution": 2}, added)
	require.EqualValues(t, 3, added.total())
	require.EqualValues(t, 1, added.of("Query"))
}
