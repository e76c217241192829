package requests_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows/request"
)

// TestManyAtOnce suspends, resumes and stops all requests that a query finds: by
// the starter and, as signals, by the `temporal` command line.
func TestManyAtOnce(t *testing.T) {
	p := newPrograms(t)
	p.StartWorker()
	p.startJobs()
	kind := p.Name("kind")
	query := fmt.Sprintf(`SluiceType=%q`, kind)
	file := p.document(t, `{"type":"`+kind+`","jobs":[
		{"id":"a","activity":"Test.Job","taskQueue":"QUEUE","heartbeat":"5s","input":{"takes":"60s"}},
		{"id":"sub","workflow":"Request","input":{"type":"`+kind+`","jobs":[{"id":"x","activity":"Test.Job","taskQueue":"QUEUE","heartbeat":"5s","input":{"takes":"60s"}}]}}]}`)
	var ids []string
	for range 3 {
		ids = append(ids, "request/"+p.Name("r"))
		p.Starter("request", "run", "-f", file, "--id", ids[len(ids)-1]).OK(t)
	}
	all := func(s jobchain.State) {
		t.Helper()
		for _, id := range ids {
			for _, one := range []string{id, id + "/sub/1"} {
				p.await(p.c.GetWorkflow(t.Context(), one, ""), one+" is "+string(s), func(r *request.Status) bool { return r.State == s })
			}
		}
		if s == jobchain.Running || s == jobchain.Suspended {
			harness.Await(t, "that is visible", visible(p.c, query+fmt.Sprintf(` AND SluiceState=%q`, s), 6))
		}
	}
	byStarter := func(verb string, args ...string) {
		t.Helper()
		var told struct {
			Done   []string
			Failed []json.RawMessage
		}
		answer := p.Starter(append([]string{"request", verb, "--query", query}, args...)...).OK(t)
		require.NoError(t, json.Unmarshal([]byte(answer.Stdout), &told))
		require.ElementsMatch(t, ids, told.Done, "jobs of others are told by their parents")
		require.Empty(t, told.Failed)
	}
	byTemporal := func(verb, input string, more string) {
		t.Helper()
		p.Temporal("workflow", "signal", "--query", `WorkflowType="Request" AND ExecutionStatus="Running" AND `+query+more,
			"--name", verb, "--input", input, "--reason", "test", "--yes").OK(t)
	}
	all(jobchain.Running)
	byStarter("suspend", "--reason", "both", "--ttl", "0s")
	all(jobchain.Suspended)
	byStarter("resume")
	all(jobchain.Running)
	byTemporal("suspend", `{"reason":"by signal"}`, "")
	all(jobchain.Suspended)
	require.Equal(t, "by signal", p.status(p.c.GetWorkflow(t.Context(), ids[0], "")).Reason)
	byTemporal("resume", `{}`, ` AND SluiceState="SUSPENDED"`)
	all(jobchain.Running)
	byTemporal("stop", `{"reason":"enough"}`, "")
	all(jobchain.Stopped)
	harness.Await(t, "none is visible as running", visible(p.c, query, 0))
	require.Contains(t, p.Starter("request", "stop", "--query", query).OK(t).Stdout, `"done": []`)
}

// TestRerunOfOneThatFailed starts again what is unfinished, and single jobs are
// skipped on demand; under the same ID or another.
func TestRerunOfOneThatFailed(t *testing.T) {
	p := newPrograms(t)
	p.StartWorker()
	p.startJobs()
	id := "request/" + p.Name("r")
	p.Starter("request", "run", "--wait", "--id", id, "-f", p.document(t, `{"jobs":[
		{"id":"a","activity":"Test.Job","taskQueue":"QUEUE","input":{"output":{"n":12345678901234567890}}},
		{"id":"b","activity":"Test.Job","taskQueue":"QUEUE","after":["a"],"input":{"failTries":1,"type":"Broken"}},
		{"id":"c","activity":"Test.Job","taskQueue":"QUEUE","after":["b"],"input":{"output":{"$from":"jobs.a.n"}}}]}`)).Exits(t, 1)
	require.Len(t, p.dispatches(id, "a/1"), 2, "start and end")

	require.Contains(t, p.Starter("request", "rerun", id, "--skip", "nobody").Exits(t, 2).Stderr, `no job "nobody"`)
	require.Contains(t, p.Starter("request", "rerun", "request/nobody").Exits(t, 1).Stderr, "request/nobody")
	exported := filepath.Join(t.TempDir(), "exported.yaml")
	p.Starter("request", "export", id, "-o", exported).OK(t)

	other := "request/" + p.Name("r")
	skipped := p.Starter("request", "rerun", id, "--new-id", other, "--skip", "b", "--wait").OK(t)
	require.Contains(t, skipped.Stdout, "12345678901234567890")
	require.Empty(t, p.dispatches(other, "a/"), "it was complete")
	require.Empty(t, p.dispatches(other, "b/"), "it was skipped")
	require.Len(t, p.dispatches(other, "c/1"), 2)

	p.Starter("request", "rerun", id, "--wait").Exits(t, 1)
	require.Len(t, p.dispatches(id, "a/1"), 2, "kept")
	require.Len(t, p.dispatches(id, "b/1"), 4, "tried again")
	require.Equal(t, jobchain.Complete, p.status(p.c.GetWorkflow(t.Context(), id, "")).Jobs[0].State)

	third := "request/" + p.Name("r")
	p.Starter("request", "run", "--from", exported, "--id", third, "--type", "again").OK(t)
	p.await(p.c.GetWorkflow(t.Context(), third, ""), "it has a's output", func(s *request.Status) bool { return s.FinishedJobs == 1 })
	require.Empty(t, p.dispatches(third, "a/"))
	_ = p.c.CancelWorkflow(context.Background(), third, "") // b may have failed already
}

// TestValidateNeedsNoServer tells all faults of a document where there is none.
func TestValidateNeedsNoServer(t *testing.T) {
	s := harness.Start(t, harness.Options{Env: []string{"TEMPORAL_ADDRESS=127.0.0.1:1"}})
	wrong := s.StarterWith("jobs:\n- id: a\n  activity: x\n  after: [b]\n- id: b\n  after: [a, c]\n", "request", "validate", "-f", "-").Exits(t, 1)
	var told struct {
		Valid  bool
		Jobs   int
		Faults []string
	}
	require.NoError(t, json.Unmarshal([]byte(wrong.Stdout), &told))
	require.False(t, told.Valid)
	require.ElementsMatch(t, []string{"jobs[1]: give either activity or workflow (line 5)", `jobs[1].after[1]: no job "c" (line 6)`, "jobs[0].after: cycle: a after b after a (line 4)"}, told.Faults)
	require.Contains(t, s.StarterWith(`{"jobs":[{"id":"a","activity":"x"}]}`, "request", "validate", "-f", "-").OK(t).Stdout, `"valid": true`)
}
