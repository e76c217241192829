package rollover_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"

	"sluice/internal/throughput"
	"sluice/tests/harness"
	"sluice/workflows"
)

// The search attribute of the state is set at every change, so the history tells
// whether each of the messages took effect, in the order in which they came.
func TestPausesSentDuringARollOverAllTakeEffect(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	resource := "dynamodb/" + s.TaskQueue + "/us-east-1/" + s.NewTable(harness.Table{Read: 50, Write: 50}) + "/write"
	g := start(t, s, workflows.TypeThroughput, workflows.ThroughputID(resource), fmt.Sprintf(`{"resource":%q}`, resource))

	const each = 16
	switches := func(sender int, signal bool) func() {
		return func() {
			for n := range each {
				name := []string{"pause", "unpause"}[(n+sender)%2]
				if err := g.send(message{name, fmt.Sprintf(`{"reason":"%d of %d"}`, n, sender), signal}, nil); err != nil {
					t.Error(err)
				}
				pause()
			}
		}
	}
	leases := func() {
		for n := range each {
			var lease throughput.Lease
			for _, m := range []message{
				{"lease", fmt.Sprintf(`{"worker":"w%d","demand":{"3":5}}`, n%3), false},
				{"set", fmt.Sprintf(`{"utilization":0.%d}`, 10+n), false},
				{"release", fmt.Sprintf(`{"worker":"w%d"}`, n%3), false},
			} {
				if err := g.send(m, &lease); err != nil {
					t.Errorf("%+v: %v", m, err)
				}
			}
		}
	}
	times := g.storm(5, switches(0, true), switches(1, true), switches(2, false), switches(3, true), leases)

	g.Record(g.id, workflows.TypeThroughput, "paused-and-unpaused-across-runs", g.first)

	asked, reason := []string{}, ""
	for _, m := range g.arrived() {
		switch m.name {
		case "pause":
			asked, reason = changed(asked, "PAUSED"), m.input
		case "unpause":
			asked, reason = changed(asked, "OPEN"), `{"reason":""}`
		}
	}
	last := await(g, "the last message counts", func(s throughput.Status) bool { return s.Paused == (asked[len(asked)-1] == "PAUSED") })
	require.Equal(t, reason, fmt.Sprintf(`{"reason":%q}`, last.Reason))
	require.Equal(t, throughput.Milli(10*(10+each-1)), last.Utilization)
	require.Equal(t, asked, g.states())
	require.Len(t, g.arrived(), times*(4*each+3*each))
	g.must(message{"unpause", `{}`, true}, nil)
	g.must(message{"set", `{"utilization":0.98}`, false}, nil)
}

// changed is a sequence of states with another one, unless it is the last one.
func changed(states []string, state string) []string {
	before := "OPEN" // in which all begin
	if len(states) > 0 {
		before = states[len(states)-1]
	}
	if state == before {
		return states
	}
	return append(states, state)
}

// states are those that the workflow has been in after its first, by what its
// search attribute was set to.
func (g *target) states() []string {
	g.t.Helper()
	states := []string{}
	for _, run := range g.runs() {
		for _, event := range run {
			payload := event.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()[workflows.AttributeState.GetName()]
			if payload == nil {
				continue
			}
			var state string
			require.NoError(g.t, converter.GetDefaultDataConverter().FromPayload(payload, &state))
			states = changed(states, state)
		}
	}
	return states
}
