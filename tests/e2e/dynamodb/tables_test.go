package dynamodb_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/throughput"
	"sluice/internal/wire"
	"sluice/tests/harness"
	budgets "sluice/workflows/throughput"
)

// The first example of the docs: a table that was just made takes the next command's
// item.
func TestATableThatWasJustMadeTakesAnItem(t *testing.T) {
	s := harness.Start(t)
	s.StartWorker()
	name := s.Name("made")
	made := s.Starter("dynamodb", "create-table", "--until-active", "--wait", "--cli-input-json", `{"TableName":"`+name+`",
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
		"ProvisionedThroughput":{"ReadCapacityUnits":10,"WriteCapacityUnits":10}}`).OK(t)
	var described struct{ Table struct{ TableStatus string } }
	require.NoError(t, json.Unmarshal([]byte(made.Stdout), &described))
	require.Equal(t, "ACTIVE", described.Table.TableStatus)
	s.Starter("dynamodb", "put-item", "--wait", "--cli-input-json", `{"TableName":"`+name+`","Item":{"id":{"S":"1"}}}`).OK(t)
	s.Starter("dynamodb", "put-item", "--until-active", "--cli-input-json", `{}`).Exits(t, 2)
}

// A budget that was started by hand tells what the table has before anybody leases.
func TestABudgetStartedByHandLooksItsTableUp(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 50, Write: 50})
	s.StartWorker()
	options, input := budgets.Owners{TaskQueue: wire.ThroughputQueue(s.TaskQueue)}.Options(budget(s, name, "write"))
	_, err := s.Client.ExecuteWorkflow(t.Context(), options, wire.TypeThroughput, input)
	require.NoError(t, err)
	st := awaitStatus(t, s, name, "write", "what is provisioned is known", func(st throughput.Status) bool { return st.Known })
	require.Equal(t, throughput.Units(49), st.Effective)
	require.Empty(t, st.Leases)
}

// A budget that was terminated comes back without knowing what it had leased. Its
// successor leaves workers what they still hold, and gives others nothing of it.
func TestASuccessorKnowsWhatWorkersStillHold(t *testing.T) {
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 100, Write: 100})
	s.StartWorker()
	owners := budgets.Owners{Client: s.Client, TaskQueue: wire.ThroughputQueue(s.TaskQueue)}
	resource := budget(s, name, "write")
	ask := func(worker, more string) (lease throughput.Lease) {
		var request throughput.LeaseRequest
		require.NoError(t, json.Unmarshal([]byte(`{"worker":"`+worker+`","demand":{"3":300}`+more+`}`), &request))
		lease, err := owners.Lease(t.Context(), resource, request)
		require.NoError(t, err)
		return lease
	}
	require.Equal(t, throughput.Units(98), ask("a", "").UnitsPerSecond)
	require.NoError(t, s.Client.TerminateWorkflow(t.Context(), "throughput/"+resource, "", "an operator's slip"))
	require.Equal(t, throughput.Units(98), ask("a", `,"holds":98,"for":"20s"`).UnitsPerSecond)
	require.Zero(t, ask("b", "").UnitsPerSecond, "a holds all of it")
}
