package ingest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/wire"
)

const ingestDocument = `{"bucket":"b","queue":"tasks","stream":"s","table":"t","delivery":{"bucket":"d","prefix":"out/","notifications":"http://q/1/n"}}`

func decoded(t *testing.T, document string) Input {
	t.Helper()
	in := defaultInput()
	require.NoError(t, CheckInput("w", json.RawMessage(document)))
	require.NoError(t, json.Unmarshal([]byte(document), &in))
	return in
}

func TestInputOfAnIngestionIsCheckedWhole(t *testing.T) {
	require.NoError(t, CheckInput("w", json.RawMessage(ingestDocument)))
	err := CheckInput("w", json.RawMessage(`{"bucket":"","stream":"s","table":"t","queue":"tasks","format":"xml","capacity":1001,
		"delivery":{"bucket":"d","notifications":"n"},"quiet":{"repeats":0,"delay":{"strategy":"linear","base":"0s"}}}`))
	for _, want := range []string{
		"bucket: must not be empty", `format: must be "lines"`, "capacity: must be between 1 and 1000", "delivery.notifications: must be the URL",
		"quiet.repeats: ", "quiet.delay.base: ", "quiet.delay.strategy: ",
	} {
		require.ErrorContains(t, err, want)
	}
	err = CheckInput("w", json.RawMessage(`{"bucket":"b","queue":"tasks","stream":"s","table":"t"}`))
	require.ErrorContains(t, err, "delivery: required")
	require.NotContains(t, err.Error(), "delivery.bucket", "one fault is told once")
}

// The names of an ingestion's own workflows are longer than its own, and so is the
// name of its queue's poison queue.
func TestNamesMadeOfAnIngestionsOwnHaveToFit(t *testing.T) {
	require.Error(t, CheckInput(strings.Repeat("i", 1000), json.RawMessage(ingestDocument)))
	long := strings.Replace(ingestDocument, `"tasks"`, `"`+strings.Repeat("q", 60)+`"`, 1)
	require.ErrorContains(t, CheckInput("w", json.RawMessage(long)), "poison queue")
}

func TestAPlanHasWhatTheActivitiesNeed(t *testing.T) {
	in := decoded(t, ingestDocument)
	in.Report.Bucket = "r"
	require.Equal(t, wire.IngestPlan{
		Workflow: "w", Run: "run", Bucket: "b", Format: "lines", Queue: "tasks", Stream: "s", Table: "t",
		DeliveryBucket: "d", DeliveryPrefix: "out/", Notifications: "http://q/1/n", ReportBucket: "r", ReportPrefix: "reports/",
	}, in.plan("w", "run"))
}

func TestTimesAreBoundedByTheDeadlineAndALittle(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		runs, passed, longest, want time.Duration
	}{
		"no deadline":                   {0, time.Hour, time.Minute, time.Minute},
		"no deadline, no bound":         {0, time.Hour, 0, 0},
		"till the deadline and a tenth": {10 * time.Hour, 4 * time.Hour, 0, 7 * time.Hour},
		"a minute at least":             {2 * time.Minute, time.Minute, 0, 2 * time.Minute},
		"no longer than asked":          {10 * time.Hour, 4 * time.Hour, time.Minute, time.Minute},
		"after the deadline":            {10 * time.Hour, 20 * time.Hour, 0, time.Hour},
	} {
		r := &run{started: start, now: func() time.Time { return start.Add(c.passed) }}
		if c.runs > 0 {
			r.deadline = start.Add(c.runs)
		}
		require.Equal(t, c.want, r.atMost(c.longest), name)
		require.Equal(t, c.runs > 0 && c.passed >= c.runs, r.isLate(), name)
	}
}

// While records are missing that may come yet another generation is watched; the
// answer is that of the last comparison.
func TestAnIngestionWatchesAgainWhileRecordsMayCome(t *testing.T) {
	w := newWorld(t)
	w.summary = wire.IngestSummary{Records: 4, Delivered: 3, Missing: 1, Lost: 0}
	w.RegisterDelayedCallback(func() {
		w.summary = wire.IngestSummary{Records: 4, Delivered: 4, Duplicated: 2, Report: wire.IngestLocated{Bucket: "b", Key: "reports/x"}}
	}, 25*time.Second)
	w.run("2h")
	var result Result
	require.NoError(t, w.GetWorkflowResult(&result))
	require.Greater(t, w.summaries, 1)
	require.EqualValues(t, 4, result.Delivered)
	require.EqualValues(t, 2, result.Duplicated)
	require.Zero(t, result.Missing)
	require.Equal(t, "reports/x", result.Report.Key)
	value, err := w.QueryWorkflow(wire.QueryStatus)
	require.NoError(t, err)
	var status Status
	require.NoError(t, value.Get(&status))
	require.Equal(t, wire.StateDone, status.State)
	require.Equal(t, w.summaries, status.Generation)
	require.Equal(t, result, *status.Result)
	require.Equal(t, "count/n", status.Counter)
}

// A cancellation leaves the counter and closes the run as cancelled, also where the
// deadline has passed meanwhile.
func TestACancelledIngestionLeavesTheCounter(t *testing.T) {
	w := newWorld(t)
	w.summary = wire.IngestSummary{Records: 2, Delivered: 1, Missing: 1}
	w.RegisterDelayedCallback(w.CancelWorkflow, 30*time.Second)
	w.run("2h")
	require.True(t, temporal.IsCanceledError(w.GetWorkflowError()), "%v", w.GetWorkflowError())
	require.Equal(t, 1, w.left)
}

// What can't be looked up is told with its type at the top, and nothing was started.
func TestAnIngestionOfWhatIsNotThereStartsNothing(t *testing.T) {
	w := newWorld(t)
	w.fails[wire.IngestPrepare.Name] = activities.Fail(activities.TypeNotFound, activities.Failure{Message: "prefix: there is no object under it"})
	w.run("2h")
	require.Equal(t, activities.TypeNotFound, activities.TypeOf(w.GetWorkflowError()))
	require.ErrorContains(t, w.GetWorkflowError(), "there is no object under it")
	require.Zero(t, w.left, "it has not joined")
	require.Zero(t, w.summaries)
}
