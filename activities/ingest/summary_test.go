package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/activities/dynamodb"
	"sluice/internal/ingestion"
	"sluice/internal/wire"
)

var plan = wire.IngestPlan{
	Workflow: "w", Run: "run", Bucket: "src", Prefix: "in/", Format: "lines", Queue: "tasks", Stream: "st", Table: "progress",
	DeliveryBucket: "dst", DeliveryPrefix: "out/", Notifications: "http://h/1/n", ReportBucket: "rep", ReportPrefix: "reports/",
}

// wroteProgress answers for the table in which the tasks of these objects, by number,
// wrote how many records they have.
func wroteProgress(records map[int64]int64, sizes *[]int) dynamodb.Caller {
	return dynamodb.CallerFunc(func(_ context.Context, operation string, document json.RawMessage) (json.RawMessage, error) {
		var in struct {
			RequestItems map[string]struct {
				Keys           []map[string]map[string]string
				ConsistentRead bool
			}
		}
		if err := json.Unmarshal(document, &in); err != nil || operation != "BatchGetItem" || !in.RequestItems["progress"].ConsistentRead {
			return nil, fmt.Errorf("%s %s: %w", operation, document, err)
		}
		*sizes = append(*sizes, len(in.RequestItems["progress"].Keys))
		var items []string
		for _, key := range in.RequestItems["progress"].Keys {
			for n, count := range records {
				if key["id"]["S"] == progressID(plan, n) {
					items = append([]string{fmt.Sprintf(`{"id":{"S":%q},"records":{"N":"%d"}}`, key["id"]["S"], count)}, items...)
				}
			}
		}
		return json.RawMessage(`{"Responses":{"progress":[` + strings.Join(items, ",") + `]}}`), nil
	})
}

func delivered(run, object string, numbers ...int64) string {
	var lines strings.Builder
	for _, n := range numbers {
		fmt.Fprintf(&lines, "{\"id\":%q,\"data\":1}\n", ingestion.ID(run, object, n))
	}
	return lines.String()
}

func manifest(t *testing.T, keys ...string) string {
	t.Helper()
	var lines strings.Builder
	for _, key := range keys {
		require.NoError(t, json.NewEncoder(&lines).Encode(listedObject{Key: key, ETag: `"pinned"`, Size: 1}))
	}
	return lines.String()
}

// Records are counted by the progress that tasks wrote, else in the version of the
// object that was listed; deliveries are of this run and since it began.
func TestASummaryComparesWhatThereIsWithWhatWasDelivered(t *testing.T) {
	s, client := newStore(t, map[string]string{
		"rep/reports/run/manifest.jsonl": manifest(t, "in/done", "in/open", "in/gone"),
		"src/in/open":                    "a\nb\nc\n",
		"dst/out/1":                      delivered("run", "src/in/done", 0, 1, 1) + "no JSON\n{\"id\":\"foreign\"}\n" + delivered("other", "src/in/done", 2),
		"dst/out/2":                      delivered("run", "src/in/open", 0, 2),
		"dst/out/late-clock":             delivered("run", "src/in/open", 1),
		"dst/out/old":                    delivered("run", "src/in/done", 2),
		"dst/other/3":                    delivered("run", "src/in/done", 2),
	})
	s.ages["dst/out/late-clock"], s.ages["dst/out/old"] = clockSkew/2, time.Hour
	var sizes []int
	i := &Activities{S3: client, Objects: s, DynamoDB: wroteProgress(map[int64]int64{0: 3}, &sizes)}
	got, err := i.summarise(t.Context(), wire.IngestSummariseInput{Plan: plan, Since: time.Now()})
	require.NoError(t, err)
	require.Equal(t, wire.IngestSummary{
		Records: 7, Delivered: 5, Missing: 2, Duplicated: 1, Unreadable: 1, Lost: 1,
		Report: wire.IngestLocated{Bucket: "rep", Key: "reports/run/report.json"},
	}, got)
	for _, o := range s.opened {
		if o.Bucket == "src" {
			require.Equal(t, "pinned", o.ETag, "the version that was listed")
		}
	}
	var written report
	require.NoError(t, json.Unmarshal([]byte(s.objects["rep/reports/run/report.json"]), &written))
	require.Equal(t, []string{"src/in/done", "src/in/open", "src/in/gone"}, []string{written.Objects[0].Object, written.Objects[1].Object, written.Objects[2].Object})
	require.Equal(t, []bool{true, false, false}, []bool{written.Objects[0].TaskFinished, written.Objects[1].TaskFinished, written.Objects[2].TaskFinished})
	require.Equal(t, []int64{2}, written.Objects[0].FirstMissing)
	require.Contains(t, written.Objects[2].Error, activities.TypeNotFound)
}

func TestADeliveredObjectThatCannotBeReadFailsNothing(t *testing.T) {
	s, client := newStore(t, map[string]string{
		"rep/reports/run/manifest.jsonl": manifest(t, "in/a"),
		"dst/out/1":                      delivered("run", "src/in/a", 0),
		"dst/out/2":                      "x",
		"dst/out/3":                      "\x1f\x8b\x08 not gzip",
	})
	s.broken["dst/out/2"] = activities.Fail(activities.TypeAccessDenied, activities.Failure{Message: "somebody else's"})
	var sizes []int
	i := &Activities{S3: client, Objects: s, DynamoDB: wroteProgress(map[int64]int64{0: 1}, &sizes)}
	got, err := i.summarise(t.Context(), wire.IngestSummariseInput{Plan: plan, Since: time.Now()})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Delivered)
	require.Zero(t, got.Unreadable)
	require.Contains(t, s.objects["rep/reports/run/report.json"], `"unreadableDelivered": 2`)
}

func TestProgressIsReadInBatchesThatTheTableTakes(t *testing.T) {
	var keys []string
	records := map[int64]int64{}
	for n := range int64(2*progressBatch + 1) {
		keys, records[n] = append(keys, fmt.Sprintf("in/%d", n)), n
	}
	_, client := newStore(t, map[string]string{"rep/reports/run/manifest.jsonl": manifest(t, keys...)})
	var sizes []int
	i := &Activities{S3: client, DynamoDB: wroteProgress(records, &sizes)}
	c := newComparison("run")
	require.NoError(t, i.expect(t.Context(), plan, c))
	require.Equal(t, []int{progressBatch, progressBatch, 1}, sizes)
	for n, key := range keys {
		require.EqualValues(t, n, c.byObject["src/"+key].Expected(), key)
	}
}

func TestAManifestIsReadWithItsNumbersAndItsFaultIsLocated(t *testing.T) {
	s, client := newStore(t, map[string]string{"rep/reports/run/manifest.jsonl": manifest(t, "a", "b\nc") + "{broken"})
	i := &Activities{S3: client}
	var read []string
	err := i.readManifest(t.Context(), plan, func(n int64, o listedObject) error {
		read = append(read, fmt.Sprintf("%d %s", n, o.Key))
		return nil
	})
	require.ErrorContains(t, err, "manifest reports/run/manifest.jsonl, line 3")
	require.Equal(t, []string{"0 a", "1 b\nc"}, read)
	delete(s.objects, "rep/reports/run/manifest.jsonl")
	require.Equal(t, activities.TypeNotFound, activities.TypeOf(i.readManifest(t.Context(), plan, nil)))
}

func TestAllPagesOfObjectsAreListedInOrder(t *testing.T) {
	_, client := newStore(t, map[string]string{"src/in/b": "12", "src/in/a": "1", "src/in/c": "", "src/out": "x", "other/in/d": "x"})
	var listed []listedObject
	require.NoError(t, (&Activities{S3: client}).listObjects(t.Context(), "src", "in/", func(o listedObject) error {
		listed = append(listed, o)
		return nil
	}))
	require.Equal(t, []listedObject{{"in/a", `"e"`, 1}, {"in/b", `"e"`, 2}, {"in/c", `"e"`, 0}}, listed)
}
