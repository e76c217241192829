package claimtasks

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// with is the document of a claimer of one queue with more fields.
func with(more string) string { return `{"queues":[{"name":"tasks"}]` + more + `}` }

const signed = `"signedUrls":{"service":"http://127.0.0.1:1","provisionerId":"p","workerType":"w"}`

// Every fault of an input is told with its field, all at once, before any claim.
func TestFaultsOfAClaimersInput(t *testing.T) {
	for document, wants := range map[string][]string{
		`{}`:                     {"one of queues and signedUrls is required"},
		with(`,` + signed):       {"signedUrls: only one of queues and signedUrls may be given"},
		with(`,"capacity":0`):    {"capacity: 0 is not from 1 to 1000"},
		with(`,"capacity":1001`): {"capacity: 1001 is not from 1 to 1000"},
		with(`,"maxTasks":-1`):   {"maxTasks: -1 is negative; 0 means no limit"},
		with(`,"interval":"2m"`): {"maxInterval: 1m is shorter than interval, 2m"},
		with(`,"interval":5`):    {"interval: "},
		with(`,"capacty":5`):     {"capacty: unknown field"},
		with(`,"fairnessKey":"` + strings.Repeat("k", 65) + `"`):                  {"fairnessKey: "},
		with(`,"warnDequeueCount":0,"maxDequeueCount":0`):                         {"warnDequeueCount: 0 is less than 1", "maxDequeueCount: 0 is less than 1"},
		with(`,"poisonQueue":"Not_A_Name"`):                                       {"poisonQueue: "},
		with(`,"poisonQueue":"tasks"`):                                            {"poisonQueue: tasks is one of the queues: poison would be claimed again"},
		with(`,"run":{"workflow":""}`):                                            {"run.workflow: must not be empty"},
		with(`,"run":{"workflow":"W","taskQueue":"/_sys/x"}`):                     {"run.taskQueue: "},
		with(`,"visibilityTimeout":"500ms"`):                                      {"visibilityTimeout: 500ms is not from 1s to 168h"},
		with(`,"visibilityTimeout":"169h"`):                                       {"visibilityTimeout: 169h is not from 1s to 168h"},
		with(`,"claim":{"workerGroup":"g"}`):                                      {"claim.service: ", `claim.workerId: "" does not match`},
		with(`,"claim":{"service":"ftp://x","workerGroup":"a b","workerId":"w"}`): {"claim.service: ", `claim.workerGroup: "a b" does not match`},
		`{"queues":[{"name":"tasks"},{"name":"tasks"},{"name":"UPPER"}]}`:         {"queues[1].name: queue tasks is listed twice", "queues[2].name: "},
		`{` + signed + `,"visibilityTimeout":"1m"}`:                               {"visibilityTimeout: goes with queues only"},
		`{"signedUrls":{"service":"x","provisionerId":"a/b"}}`:                    {"signedUrls.service: ", "signedUrls.provisionerId: ", "signedUrls.workerType: "},
	} {
		err := CheckInput("claim/tasks", json.RawMessage(document))
		for _, want := range wants {
			require.ErrorContains(t, err, want, document)
		}
	}
	for _, document := range []string{
		with(``), with(`,"capacity":1`), with(`,"capacity":1000`), with(`,"visibilityTimeout":"1s"`), with(`,"visibilityTimeout":"168h"`), `{` + signed + `}`,
		with(`,"claim":{"service":"http://127.0.0.1:1","workerGroup":"g","workerId":"w"}`), with(`,"maxDequeueCount":1`),
	} {
		require.NoError(t, CheckInput("claim/tasks", json.RawMessage(document)), document)
	}
}

// A claimer of a bad input claims nothing.
func TestAClaimerOfABadInputFails(t *testing.T) {
	c := newClaimed(t, starting())
	_, err := c.run(t, with(`,"capacity":0`))
	require.ErrorContains(t, err, "capacity: 0 is not from 1 to 1000")
	require.Empty(t, c.polls)
}

// The polling activity is told the defaults; those of an own visibility go with queues
// only.
func TestDefaultsOfAClaimer(t *testing.T) {
	c := newClaimed(t, starting("a"))
	c.ends(15*time.Second, finished("a", "completed"))
	_, err := c.run(t, with(`,"maxTasks":1`))
	require.NoError(t, err)
	spec := c.poll(0).Spec
	require.Equal(t, 5*time.Second, spec.Interval.Std())
	require.Equal(t, time.Minute, spec.MaxInterval.Std())
	require.Equal(t, 5*time.Minute, spec.VisibilityTimeout.Std())
	require.Equal(t, 3*time.Minute, spec.Claim.ReclaimBefore.Std())
	require.EqualValues(t, 5, spec.WarnDequeueCount)
	require.EqualValues(t, 15, spec.MaxDequeueCount)
	require.Equal(t, 10, spec.Capacity)
	require.Equal(t, wire.RunSpec{Workflow: wire.TypeRequest}, spec.Run)
	require.False(t, spec.Claim.Used())
}

// A drain is answered when the claimer ends, or after its wait; what runs goes on.
func TestADrainIsAnsweredAtTheEndOrAfterItsWait(t *testing.T) {
	for wait, want := range map[string]struct {
		state   string
		running int
	}{
		`{"wait":"5s"}`: {wire.ClaimDraining, 2}, `{"wait":"1m"}`: {wire.ClaimStopped, 0}, `{}`: {wire.ClaimStopped, 0},
	} {
		c := newClaimed(t, starting("a", "b"))
		c.after(12*time.Second, wire.UpdateDrain, wait)
		c.ends(20*time.Second, finished("a", "completed"), finished("b", "failed"))
		began := c.Now()
		last, err := c.run(t, with(``))
		require.NoError(t, err)
		require.Less(t, last.AsOf.Sub(began), 35*time.Second, "%s: the end does not wait for the wait to be over", wait)
		var answer Status
		require.NoError(t, json.Unmarshal(c.answers[wire.UpdateDrain], &answer))
		require.Equal(t, want.state, answer.State, wait)
		require.Equal(t, want.running, answer.Running, wait)
		require.Equal(t, wire.ClaimStopped, last.State)
		require.EqualValues(t, 2, last.Finished)
		require.EqualValues(t, 1, last.Failed)
	}
}

// A long history is cut between two attempts, and the books go along: what runs, what
// ended early, the capacity in force.
func TestAClaimerContinuesAsNewWithItsBooks(t *testing.T) {
	c := newClaimed(t, func(int, wire.PollInput) (wire.PollReport, error) {
		return wire.PollReport{Started: startedTasks("a", "b"), Carry: wire.PollCarry{Place: []byte("of this history")}}, nil
	})
	c.after(5*time.Second, wire.UpdateCapacity, `{"capacity":3}`)
	c.ends(6*time.Second, finished("a", "failed"), finished("early", "completed"))
	c.SetContinueAsNewSuggested(true)
	_, err := c.run(t, with(``))
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, err, &again)
	var next continued
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.Equal(t, 3, next.Resumed.Capacity)
	require.Equal(t, startedTasks("b"), next.Resumed.Running)
	require.EqualValues(t, 2, next.Resumed.Claimed)
	require.EqualValues(t, 1, next.Resumed.Finished)
	require.EqualValues(t, 1, next.Resumed.Failed)
	require.Contains(t, next.Resumed.Recent, "task/a/0")
	require.Nil(t, next.Resumed.Carry.Place)
	require.Equal(t, "tasks", next.Queues[0].Name)
}

// The latest ends are remembered, the oldest forgotten first.
func TestRememberedEndsAreBounded(t *testing.T) {
	s := newCarried(1, time.Unix(0, 0))
	for n := range rememberEnds + 3 {
		s.report(wire.PollReport{Started: []wire.StartedTask{started(n)}})
		s.finish(started(n).ID(), false)
	}
	require.Len(t, s.Recent, rememberEnds)
	require.Equal(t, started(3).ID(), s.Recent[0])
	require.EqualValues(t, rememberEnds+3, s.Finished)
}

// The attributes name the first queue, or who hands out signed URLs; the activity's
// words name what is claimed from.
func TestWhatAClaimerIsShownWith(t *testing.T) {
	for document, want := range map[string][2]string{
		with(``): {"tasks", "queue tasks"},
		`{"queues":[{"name":"high"},{"name":"low"}]}`: {"high", "queue high and lower ones"},
		`{` + signed + `}`:                            {"p/w", "the queues of p/w"},
	} {
		require.Equal(t, want[0], Target(json.RawMessage(document)), document)
		in := defaultInput()
		require.NoError(t, json.Unmarshal([]byte(document), &in))
		require.Equal(t, want[1], sourceName(&in), document)
	}
	require.Empty(t, Target(json.RawMessage(`[]`)), "it is refused")
}
