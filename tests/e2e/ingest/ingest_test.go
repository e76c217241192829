package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/ingest"
)

func TestIngestDeliversEveryRecord(t *testing.T) {
	f := newFixture(t, 6, 40)
	f.put("empty.jsonl", nil)
	f.StartWorker()
	first := f.run(f.Name("ingest"))
	require.EqualValues(t, 7, first.Objects)
	require.EqualValues(t, 7, first.Tasks)
	require.Equal(t, f.records, first.Records)
	require.Equal(t, f.records, first.Delivered)
	require.Zero(t, first.Missing)
	require.Zero(t, first.Duplicated)
	require.Positive(t, first.Seconds)
	require.Contains(t, first.Report.Key, first.Run)

	id := f.Name("again")
	second := f.run(id)
	require.NotEqual(t, first.Run, second.Run)
	require.Equal(t, f.records, second.Delivered, "the second sees its own records only")
	require.Zero(t, second.Missing)
	require.Zero(t, second.Duplicated)
	f.endedWhatItStarted(id)
	f.Record(id, workflows.TypeIngest, "two-objects-and-an-empty-one")
}

// endedWhatItStarted: neither the claimer nor the counter goes on.
func (f *fixture) endedWhatItStarted(id string) {
	count := workflows.CountID(f.Env("SLUICE_DEMO_NOTIFICATIONS"))
	for _, started := range []string{workflows.ClaimID(id), count} {
		harness.Await(f.t, started+" has ended", func(ctx context.Context) error {
			described, err := f.Client.DescribeWorkflow(ctx, started, "")
			if err != nil {
				return err
			}
			if described.Status.String() == "Running" {
				return fmt.Errorf("it is running")
			}
			return nil
		})
	}
}

func TestIngestByTheTemporalCommandAlone(t *testing.T) {
	f := newFixture(t, 2, 10)
	f.StartWorker()
	id := f.Name("ingest")
	f.Temporal("workflow", "start", "--type", "Ingest", "--task-queue", f.TaskQueue, "--workflow-id", id, "--input", f.document(nil)).OK(t)
	query := "SluiceType = 'Ingest' AND SluiceState = 'OPEN' AND SluiceTarget = '" + f.bucket + "'"
	harness.Await(t, "it is found by its search attributes", func(context.Context) error {
		if out := f.Temporal("workflow", "list", "--query", query).OK(t).Stdout; !strings.Contains(out, id) {
			return fmt.Errorf("listed: %s", out)
		}
		return nil
	})
	status := f.Temporal("workflow", "query", "--workflow-id", id, "--type", "status").OK(t).Stdout
	for _, want := range []string{"asOf", "phase", workflows.ClaimID(id)} {
		require.Contains(t, status, want)
	}
	out := f.Temporal("workflow", "result", "--workflow-id", id, "--output", "json").OK(t).Stdout
	require.Contains(t, out, `"missing"`)
	r := f.Starter("ingest", "status", id).OK(t)
	var s ingest.Status
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &s))
	require.Equal(t, "DONE", s.State)
	require.Zero(t, s.Result.Missing)
	require.EqualValues(t, 20, s.Result.Delivered)
}

func TestIngestSurvivesKilledWorkers(t *testing.T) {
	f := newFixture(t, 8, 400)
	id := f.Name("ingest")
	worker := f.StartWorker()
	f.StarterWith(f.document(nil), "ingest", "run", "--id", id, "-f", "-").OK(t)
	for _, phase := range []string{"DISPATCH", "STREAM", "SETTLE"} {
		f.awaitPhase(id, phase)
		worker.Kill()
		worker = f.StartWorker()
	}
	out := f.Temporal("workflow", "result", "--workflow-id", id, "--output", "json").OK(t).Stdout
	var ended struct{ Result ingest.Result }
	require.NoError(t, json.Unmarshal([]byte(out), &ended), out)
	require.Zero(t, ended.Result.Missing, out)
	require.Equal(t, f.records, ended.Result.Delivered)
	f.endedWhatItStarted(id)
	f.Record(id, workflows.TypeIngest, "workers-killed")
}

// awaitPhase waits until the ingestion has reached a phase, or a later one.
func (f *fixture) awaitPhase(id, phase string) {
	phases := []string{"PREPARE", "DISPATCH", "STREAM", "SETTLE", "COMPARE", "FINISH"}
	at := func(p string) int {
		for i := range phases {
			if phases[i] == p {
				return i
			}
		}
		return -1
	}
	harness.AwaitFor(f.t, 3*time.Minute, id+" is in "+phase, func(ctx context.Context) error {
		answer, err := f.Client.QueryWorkflow(ctx, id, "", workflows.QueryStatus)
		if err != nil {
			return err
		}
		var s ingest.Status
		if err := answer.Get(&s); err != nil {
			return harness.Never(err)
		}
		if at(s.Phase) < at(phase) {
			return fmt.Errorf("it is in %s", s.Phase)
		}
		return nil
	})
}

func TestIngestCancelled(t *testing.T) {
	f := newFixture(t, 2, 10)
	f.StartWorker()
	id := f.Name("ingest")
	f.StarterWith(f.document(map[string]any{"quiet": map[string]any{"repeats": 100, "delay": map[string]any{"base": "10s"}}}),
		"ingest", "run", "--id", id, "-f", "-").OK(t)
	f.awaitPhase(id, "SETTLE")
	f.Temporal("workflow", "cancel", "--workflow-id", id).OK(t)
	harness.Await(t, "it is cancelled", func(ctx context.Context) error {
		described, err := f.Client.DescribeWorkflow(ctx, id, "")
		if err != nil {
			return err
		}
		if described.Status.String() != "Canceled" {
			return fmt.Errorf("it is %s", described.Status)
		}
		return nil
	})
	f.endedWhatItStarted(id)
	f.Starter("ingest", "status", id).Exits(t, 1)
	f.Record(id, workflows.TypeIngest, "cancelled-while-settling")
}

// TestIngestRefusesBadInput: one clear error, nothing half done.
func TestIngestRefusesBadInput(t *testing.T) {
	f := newFixture(t, 1, 1)
	f.StartWorker()
	delivery := func(name string, value any) map[string]any {
		d := map[string]any{"bucket": f.Env("SLUICE_DEMO_DELIVERY_BUCKET"), "notifications": f.Env("SLUICE_DEMO_NOTIFICATIONS")}
		d[name] = value
		return map[string]any{"delivery": d}
	}
	for name, c := range map[string]struct {
		changes map[string]any
		status  int
		want    []string
	}{
		"unknown field":    {map[string]any{"colour": "red"}, 2, []string{"InvalidInput", "colour: unknown field"}},
		"bare number":      {map[string]any{"deadline": 7200}, 2, []string{"InvalidInput", `deadline: a deadline is a string with a unit; write "7200s"`}},
		"all at once":      {map[string]any{"bucket": nil, "capacity": 0, "format": "xml"}, 2, []string{"bucket: required", "capacity: must be", "format: must be"}},
		"missing bucket":   {map[string]any{"bucket": "no-such-bucket-here"}, 1, []string{"NotFound", "no-such-bucket-here"}},
		"nothing under it": {map[string]any{"prefix": "nowhere/"}, 1, []string{"NotFound", "prefix: there is no object under it"}},
		"missing queue":    {map[string]any{"queue": "no-such-queue"}, 1, []string{"NotFound", "no-such-queue"}},
		"missing stream":   {map[string]any{"stream": "no-such-stream"}, 1, []string{"NotFound", "no-such-stream"}},
		"missing table":    {map[string]any{"table": "no-such-table"}, 1, []string{"NotFound", "no-such-table"}},
		"missing delivery": {delivery("bucket", "no-such-bucket-here"), 1, []string{"NotFound", "no-such-bucket-here"}},
		"no notifications": {delivery("notifications", f.Env("SLUICE_DEMO_NOTIFICATIONS")+"-not"), 1, []string{"NotFound"}},
	} {
		t.Run(name, func(t *testing.T) {
			id := f.Name("refused")
			r := f.StarterWith(f.document(c.changes), "ingest", "run", "--id", id, "-f", "-", "--wait").Exits(t, c.status)
			require.Empty(t, r.Stdout)
			for _, want := range c.want {
				require.Contains(t, r.Stderr, want)
			}
			_, err := f.Client.DescribeWorkflow(t.Context(), workflows.ClaimID(id), "")
			var notFound *serviceerror.NotFound
			require.ErrorAs(t, err, &notFound, "a claimer was started")
		})
	}
	f.Starter("ingest", "run", "--capacity", "many").Exits(t, 2)
	f.Starter("ingest", "run", "-f", "no-such-file.json").Exits(t, 2)
	f.Starter("ingest", "status", "ingest/never-was").Exits(t, 1)
}

// TestIngestTellsAnUnreachableQueue: the worker's queue service does not answer.
func TestIngestTellsAnUnreachableQueue(t *testing.T) {
	f := newFixture(t, 1, 1)
	f.StartWorker("AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=http;AccountName=a;AccountKey=c2VjcmV0;QueueEndpoint=http://127.0.0.1:1/a;")
	r := f.StarterWith(f.document(nil), "ingest", "run", "--id", f.Name("ingest"), "-f", "-", "--wait").Exits(t, 1)
	require.Contains(t, r.Stderr, "Unavailable")
	require.Contains(t, r.Stderr, f.Env("SLUICE_DEMO_QUEUE"))
	require.NotContains(t, r.Stderr, "c2VjcmV0")
}
