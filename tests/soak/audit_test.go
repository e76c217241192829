package soak

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// sound is evidence without a breach, and what was promised.
func sound() ([]Promise, Evidence) {
	record := func(key string) Entry { return Entry{"kinesis", "PutRecords", "s", key} }
	effect := func(key string, sequence int) Effect {
		return Effect{Service: "kinesis", Target: "s", Key: key, Group: "k", Sequence: sequence}
	}
	promises := []Promise{
		{System: "kinesis", ID: "p", States: []string{"COMPLETE"}, Effects: []Effect{effect("a", 1), effect("b", 2)}},
		{System: "dynamodb", ID: "d", States: []string{"COMPLETE", "FAIL"}, Reason: "Ambiguous",
			Effects: []Effect{{Service: "dynamodb", Target: "t", Key: "n", Job: "add", AtMost: 1}}},
		{System: "watches", ID: "w", Figures: map[string]int64{"count": 3}},
	}
	return promises, Evidence{
		Journal: []Entry{record("a"), record("b"), record("a"), {"dynamodb", "UpdateItem", "t", "n"}},
		Finals: []Final{
			{ID: "p", State: "COMPLETE", Tries: []Try{{"one", false}, {"one", false}, {"one", true}, {"two", false}, {"two", true}}},
			{ID: "d", State: "COMPLETE", Jobs: map[string]string{"add": "COMPLETE"}, FailedTasks: []string{"UnhandledCommand: x"}},
			{ID: "w", State: "DONE", Figures: map[string]int64{"count": 3}},
		},
	}
}

func TestAuditFindsNothingWhereAllIsAsPromised(t *testing.T) {
	verdict := Audit(sound())
	require.Empty(t, verdict.Breaches)
	require.Equal(t, map[string]int{"kinesis": 1}, verdict.Doubles, "a record came twice, which is allowed and counted")
	require.Equal(t, 3, verdict.Effects)
	require.Equal(t, 4, verdict.Accepted)
	require.Equal(t, 1, verdict.Repeated)
}

func TestAuditFindsEachKindOfBreach(t *testing.T) {
	for name, c := range map[string]struct {
		forge func(*Evidence)
		kind  string
	}{
		"a record that was never stored":            {func(e *Evidence) { e.Journal = append(e.Journal[:1:1], e.Journal[3:]...) }, Missing},
		"a counter of which only the answer counts": {func(e *Evidence) { e.Journal = e.Journal[:3] }, Missing},
		"a request of which nothing is known":       {func(e *Evidence) { e.Finals = e.Finals[1:] }, Missing},
		"a write that must not be repeated":         {func(e *Evidence) { e.Journal = append(e.Journal, e.Journal[3]) }, Doubled},
		"a record before an earlier one": {func(e *Evidence) {
			e.Journal[0], e.Journal[2] = e.Journal[1], e.Journal[0]
			e.Journal[1] = e.Journal[2]
		}, OutOfOrder},
		"a job dispatched after its success": {func(e *Evidence) { e.Finals[0].Tries = append(e.Finals[0].Tries, Try{"one", false}) }, RanAgain},
		"a request in another state":         {func(e *Evidence) { e.Finals[0].State = "STOPPED" }, WrongState},
		"a failure for another reason":       {func(e *Evidence) { e.Finals[1].State, e.Finals[1].Error = "FAIL", "AccessDenied" }, WrongState},
		"a count that is off by one":         {func(e *Evidence) { e.Finals[2].Figures["count"] = 4 }, WrongFigure},
		"a count that nobody tells":          {func(e *Evidence) { e.Finals[2].Figures = nil }, WrongFigure},
		"a watch that goes on":               {func(e *Evidence) { e.Finals[2].Running = true }, StillRunning},
		"a workflow that nobody waits for":   {func(e *Evidence) { e.Finals = append(e.Finals, Final{ID: "x", Running: true}) }, StillRunning},
		"a workflow task that failed":        {func(e *Evidence) { e.Finals[1].FailedTasks = []string{"NonDeterministicError: x"} }, FailedTask},
		"a worker that is left":              {func(e *Evidence) { e.Remains.Processes = []string{"worker 12"} }, Left},
		"a file that is left":                {func(e *Evidence) { e.Remains.Files = []string{"spool"} }, Left},
	} {
		t.Run(name, func(t *testing.T) {
			promises, evidence := sound()
			c.forge(&evidence)
			verdict := Audit(promises, evidence)
			require.NotEmpty(t, verdict.Breaches)
			for _, b := range verdict.Breaches {
				require.Equal(t, c.kind, b.Kind, "%s", b)
			}
		})
	}
}

func TestAuditAllowsAWriteThatIsNotThereWhereItsJobFailed(t *testing.T) {
	promises, evidence := sound()
	evidence.Journal = evidence.Journal[:3]
	evidence.Finals[1].State, evidence.Finals[1].Error = "FAIL", "Ambiguous: the answer is lost"
	evidence.Finals[1].Jobs["add"] = "FAIL"
	require.Empty(t, Audit(promises, evidence).Breaches)
}
