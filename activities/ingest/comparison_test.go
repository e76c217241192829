package ingest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/internal/ingestion"
	"sluice/internal/wire"
)

func TestAReportAddsUpItsObjectsInManifestOrder(t *testing.T) {
	c := newComparison("run")
	c.add("b/z", ingestion.NewTally(3))
	c.add("b/a", ingestion.NewTally(1))
	c.unfinished["b/a"] = true
	c.take(found{key: "d1", deliveries: []delivery{{"b/z", 0}, {"b/z", 0}, {"b/z", 2}, {"b/z", 3}, {"other/x", 0}}})
	r := c.report()
	require.Equal(t, []objectReport{
		{Object: "b/z", Records: 3, Delivered: 2, Missing: 1, Duplicated: 1, Unexpected: 1, TaskFinished: true, FirstMissing: []int64{1}},
		{Object: "b/a", Records: 1, Missing: 1, FirstMissing: []int64{0}},
	}, r.Objects)
	require.Equal(t, wire.IngestSummary{Records: 4, Delivered: 2, Missing: 2, Duplicated: 1}, r.IngestSummary)
}

// What nobody can ever read is lost; what is only away for now is waited for.
func TestOnlyRecordsThatNoWaitingMakesReadableAreLost(t *testing.T) {
	for errType, lost := range map[string]int64{
		activities.TypeInvalidInput: 3, activities.TypeNotFound: 3, activities.TypeUnavailable: 0, activities.TypeThrottled: 0,
	} {
		c := newComparison("run")
		c.add("b/k", ingestion.NewOpenTally(2))
		c.unread["b/k"] = activities.Fail(errType, activities.Failure{Message: "broken"})
		r := c.report()
		require.EqualValues(t, 1, r.IngestSummary.Unreadable, errType)
		require.EqualValues(t, 3, r.Missing, "two that were counted and one for the rest")
		require.Equal(t, lost, r.Lost, errType)
		require.Contains(t, r.Objects[0].Error, "broken")
	}
}

func TestUnreadableDeliveriesAreCountedAndTheFirstAreListedWithoutSecrets(t *testing.T) {
	c := newComparison("run")
	c.add("b/k", ingestion.NewTally(1))
	for n := range listedUnreadable + 5 {
		c.take(found{key: fmt.Sprint(n), deliveries: []delivery{{"b/k", 0}}, err: errors.New("GET https://h/x?X-Amz-Signature=s3cret")})
	}
	r := c.report()
	require.EqualValues(t, listedUnreadable+5, r.UnreadableDelivered)
	require.Len(t, r.Unreadable, listedUnreadable)
	require.NotContains(t, r.Unreadable[0].Error, "s3cret")
	require.EqualValues(t, 1, r.Delivered, "what came before the fault counts")
	require.Zero(t, r.IngestSummary.Unreadable, "they may be anybody's")
}

func TestOutputsOfIngestionsAreNotTakenIn(t *testing.T) {
	p := wire.IngestPlan{Bucket: "b", ReportBucket: "b", ReportPrefix: "reports/", DeliveryBucket: "b", DeliveryPrefix: "out/"}
	for key, is := range map[string]bool{"reports/r/manifest.jsonl": true, "out/1": true, "in/1": false, "report": false, "outer": false} {
		require.Equal(t, is, isOutput(p, key), key)
	}
	elsewhere := wire.IngestPlan{Bucket: "b", ReportBucket: "r", ReportPrefix: "reports/", DeliveryBucket: "d"}
	require.False(t, isOutput(elsewhere, "reports/x"))
	require.False(t, isOutput(wire.IngestPlan{Bucket: "b", ReportBucket: "b", DeliveryBucket: "d"}, "x"), "without a prefix all would be")
}

// The tasks of one run are told from those of a run whose name begins like it, and
// progress from the counters in the same table.
func TestNamesOfARunsThings(t *testing.T) {
	p := wire.IngestPlan{Workflow: "w", Run: "r", ReportPrefix: "reports/"}
	require.Equal(t, "reports/r/manifest.jsonl", manifestKey(p))
	require.Equal(t, "reports/r/report.json", reportKey(p))
	require.Equal(t, "##ingest/r/7", progressID(p, 7))
	require.Equal(t, "r-7", taskOf(p, 7))
	require.Equal(t, "w/r", holderOf(p))
	require.Contains(t, wire.TaskID(taskOf(p, 7), 0), taskPrefix("r"))
	require.NotContains(t, wire.TaskID(taskOf(wire.IngestPlan{Run: "rr"}, 7), 0), taskPrefix("r"))
}
