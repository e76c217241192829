package programs_test

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"sluice/tests/harness"
)

// keyOf is 32 bytes in base64.
func keyOf(fill byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, 32))
}

// A key could not be changed without losing what was encrypted before, and who lacked
// it was not told which.
func TestAKeyIsChangedWhileAWorkflowWaits(t *testing.T) {
	t.Parallel()
	old := harness.Start(t, harness.Options{Env: []string{"SLUICE_ENCRYPTION_KEY=2024:" + keyOf(1)}})
	old.Starter("setup").OK(t)
	first := old.StartWorker()
	id, bucket := old.Name("request"), old.NewBucket() // the bucket is told by a search attribute
	const card = "4111222233334444"
	old.StarterWith(`{"args":{"bucket":"`+bucket+`","card":"`+card+`"},"jobs":[{"id":"look","activity":"S3.List","taskQueue":"`+old.TaskQueue+`-later",
		"input":{"bucket":{"$from":"args.bucket"}}}]}`, "request", "run", "--id", id, "-f", "-").OK(t)
	require.Zero(t, first.Stop(t))

	lacking := old.StartWorker("SLUICE_ENCRYPTION_KEY=2025:" + keyOf(2))
	old.Temporal("workflow", "signal", "--workflow-id", id, "--name", "suspend", "--input", `{}`).OK(t)
	lacking.AwaitLog(t, `made with the key \"2024\", which SLUICE_ENCRYPTION_KEY does not have (it has 2025)`)
	described, err := old.Client.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, described.RawResponse.GetWorkflowExecutionInfo().GetStatus(), "a worker without the key ended it")
	require.Zero(t, lacking.Stop(t))

	both := harness.Start(t, harness.Options{TaskQueue: old.TaskQueue, Env: []string{
		"SLUICE_ENCRYPTION_KEY=2025:" + keyOf(2) + ",2024:" + keyOf(1), "SLUICE_CODEC_TOKEN=let-me-read",
	}})
	both.StartWorker()
	both.Starter("request", "resume", id).OK(t)
	both.StartWorker("SLUICE_TASK_QUEUE=" + old.TaskQueue + "-later")
	both.Temporal("workflow", "result", "--workflow-id", id).OK(t)

	server := both.LaunchStarter("codec-server", "--address", "127.0.0.1:0")
	server.AwaitLog(t, "codec server on")
	endpoint := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(server.Logs())
	show := []string{"workflow", "show", "--workflow-id", id, "--output", "json", "--codec-endpoint", endpoint}
	require.NotContains(t, dataIn(both.Temporal(show...).Stdout), card, "payloads are decoded without the token")
	shown := both.Temporal(append(show, "--codec-auth", "Bearer let-me-read")...).OK(t).Stdout
	require.Contains(t, dataIn(shown), card)
	plain := both.Temporal("workflow", "show", "--workflow-id", id, "--output", "json").OK(t).Stdout
	for _, keyID := range []string{"2024", "2025"} {
		require.Contains(t, plain, base64.StdEncoding.EncodeToString([]byte(keyID)), "what came before the change has the old key's ID, what came after the new one's")
	}
	require.NotContains(t, dataIn(plain), card)
	require.NotContains(t, server.Logs(), "let-me-read")
}

// dataIn is all data of payloads in a history as JSON, read.
func dataIn(history string) string {
	var all strings.Builder
	for _, data := range regexp.MustCompile(`"data": "([^"]*)"`).FindAllStringSubmatch(history, -1) {
		raw, err := base64.StdEncoding.DecodeString(data[1])
		if err == nil {
			all.Write(raw)
		}
	}
	return all.String()
}
