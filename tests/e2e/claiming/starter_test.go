package claiming_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// The whole way by the starter: enqueue, run, status, capacity, poison, drain.
func TestStarterClaims(t *testing.T) {
	b := newBench(t)
	worker := b.StartWorker()
	queue := b.Name("byhand")
	b.id = "claim/" + queue

	r := b.Starter("claim", "enqueue", queue, "--task-id", queue+"-1", "--payload", `{"sleep":"10m"}`)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "NotFound: AzureQueue.Send "+queue+": HTTP 404 QueueNotFound")
	b.Starter("claim", "enqueue", "No_Queue", "--task-id", queue+"-1").Exits(t, 2)
	for _, none := range [][]string{{"list"}, {"replay", "--all"}, {"drop", "--all"}} {
		r = b.Starter(append([]string{"claim", "poison", none[0], queue}, none[1:]...)...).OK(t)
		require.NotContains(t, r.Stdout, "null", "nothing is poisoned where there is no queue of poison")
	}
	b.NewAzureQueue(queue)
	b.put(queue, "!!bad", `{"taskId":"`+queue+`-4","payload":[]}`)
	b.Starter("claim", "enqueue", queue, "--create", "--task-id", queue+"-1", "--payload", `{"sleep":"10m"}`).OK(t)
	lines := fmt.Sprintf("{\"taskId\":%q}\n{\"taskId\":%q,\"payload\":{}}", queue+"-2", queue+"-3")
	r = b.StarterWith(lines, "claim", "enqueue", queue, "-f", "-").OK(t)
	require.JSONEq(t, fmt.Sprintf(`{"queue":%q,"sent":2}`, queue), r.Stdout)
	file := filepath.Join(t.TempDir(), "tasks.json")
	require.NoError(t, os.WriteFile(file, []byte(fmt.Sprintf("[{\"taskId\":%q}]", queue+"-5")), 0o600))
	r = b.Starter("claim", "enqueue", queue, "--file", file, "--delay", "1h").OK(t)
	require.JSONEq(t, fmt.Sprintf(`{"queue":%q,"sent":1}`, queue), r.Stdout)
	r = b.StarterWith(`[{"taskId":"a/b"},{"runId":0},{"taskId":"ok"}]`, "claim", "enqueue", queue, "-f", "-").Exits(t, 2)
	require.Contains(t, r.Stderr, "message 1: taskId")
	require.Contains(t, r.Stderr, "message 2: taskId is missing")

	r = b.Starter("claim", "run", "--queue", queue, "--workflow", "Nap", "--run-task-queue", b.naps, "--capacity", "1", "--print-cli").OK(t)
	require.Contains(t, r.Stderr, "temporal workflow start")
	require.Contains(t, r.Stderr, "claim/"+queue)
	b.awaitStatus("two poisoned, one runs", func(s status) bool { return s.Poisoned == 2 && s.Running == 1 })
	b.Starter("claim", "capacity", queue, "5").OK(t)
	b.awaitStatus("two more ran", func(s status) bool { return s.Finished == 2 && s.Running == 1 })
	r = b.Starter("claim", "status", b.id).Exits(t, 3)
	var live status
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &live))
	require.Equal(t, 5, live.Capacity)
	require.EqualValues(t, 3, live.Claimed)

	var listed struct {
		Count    int
		Messages []struct{ MessageID, Reason, Body string }
	}
	r = b.Starter("claim", "poison", "list", queue).OK(t)
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &listed))
	require.Equal(t, 2, listed.Count)
	for _, m := range listed.Messages {
		verb := "drop"
		if strings.HasPrefix(m.Body, "{") {
			verb = "replay"
		}
		b.Starter("claim", "poison", verb, queue, "--id", m.MessageID).OK(t)
	}
	b.awaitStatus("the replayed one is poison again", func(s status) bool { return s.Poisoned == 3 })
	b.Starter("claim", "poison", "drop", queue).Exits(t, 2)
	b.Starter("claim", "poison", "drop", queue, "--all").OK(t)
	b.awaitEmpty(queue + "-poison")

	requireMetrics(t, worker, "sluice_claim_visible", "sluice_claim_running", "sluice_claim_oldest_age_seconds")
	b.Starter("claim", "stop", queue, "--reason", "enough").OK(t)
	var result status
	require.NoError(t, b.Client.GetWorkflow(t.Context(), b.id, "").Get(t.Context(), &result))
	require.Equal(t, "STOPPED", result.State)
	require.EqualValues(t, 3, result.Finished)
	require.Equal(t, "EXCEPTION", b.awaitTask(queue+"-1", 0).State)
	b.Starter("claim", "drain", queue).Exits(t, 1)
}

func requireMetrics(t *testing.T, w *harness.Worker, names ...string) {
	t.Helper()
	text, err := w.Scrape(t.Context())
	require.NoError(t, err)
	for _, name := range names {
		require.Contains(t, text, name)
	}
}

// Whatever is wrong with a claimer's input or message is told at once, all of it.
func TestClaimerRefusesBadDocuments(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	run := b.claim(map[string]any{"capacity": 0, "queues": nil, "interval": "5m", "colour": "red",
		"claim": map[string]string{"service": "ftp://x"}})
	err := run.Get(t.Context(), nil)
	for _, part := range []string{"InvalidInput", "capacity:", "one of queues and signedUrls", "maxInterval:", "colour: unknown field", "claim.service:", "claim.workerGroup:"} {
		require.ErrorContains(t, err, part)
	}
	b.claim(nil)
	b.awaitStatus("up", func(s status) bool { return s.State == "OPEN" })
	for update, input := range map[string]string{"capacity": `{"capacity":1001}`, "drain": `{"wait":"2m"}`, "stop": `{"why":"x"}`} {
		_, err := b.update(update, input)
		require.ErrorContains(t, err, update, "%s %s", update, input)
	}
	all, _ := b.history(b.id)
	require.Less(t, all, 12, "a refused update is in no history")
}
