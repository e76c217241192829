// Package programs_test tries what worker and starter promise as programs:
// set-up, stopping, logs, encryption, payloads by reference.
package programs_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
	"sluice/workflows"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func TestSetupOfANamespace(t *testing.T) {
	s := harness.Start(t)
	namespace := s.Name("namespace")
	s.Temporal("operator", "namespace", "create", "--namespace", namespace).OK(t)
	s = harness.Start(t, harness.Options{Env: []string{"TEMPORAL_NAMESPACE=" + namespace}})
	var refused *harness.Worker
	// The frontend learns of a new namespace after a moment; until then the
	// worker is refused for that.
	harness.Await(t, "the worker asks for the set-up", func(context.Context) error {
		refused = s.LaunchWorker()
		code := refused.Wait(t, time.Minute)
		if code != 1 || !strings.Contains(refused.Logs(), "starter setup") {
			return fmt.Errorf("exit %d: %s", code, refused.Logs())
		}
		return nil
	})
	for _, want := range []string{"SluiceState", "SluiceType", "SluiceTarget", "SLUICE_SKIP_SETUP_CHECK"} {
		require.Contains(t, refused.Logs(), want)
	}
	skipping := s.StartWorker("SLUICE_SKIP_SETUP_CHECK=true")
	require.Zero(t, skipping.Stop(t))

	for _, args := range [][]string{{"request", "list"}, {"request", "stop", "--query", "SluiceType='x'"}} {
		require.Contains(t, s.Starter(args...).Exits(t, 1).Stderr, "starter setup", "a namespace without set-up has no empty list")
	}
	var first, second struct{ Added []string }
	require.NoError(t, json.Unmarshal([]byte(s.Starter("setup").OK(t).Stdout), &first))
	require.ElementsMatch(t, workflows.AttributeNames(), first.Added)
	require.NoError(t, json.Unmarshal([]byte(s.Starter("setup").OK(t).Stdout), &second))
	require.Empty(t, second.Added, "set-up is safe to repeat")
	s.StartWorker()
}

func TestWorkerStopsOnSIGTERM(t *testing.T) {
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	w := s.StartWorker("SLUICE_LOG_FORMAT=json", "SLUICE_LOG_LEVEL=debug")
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200} {
		response, err := http.Get(w.Metrics + path)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, path)
	}
	require.Zero(t, w.Stop(t))
	for _, line := range strings.Split(strings.TrimSpace(w.Logs()), "\n") {
		require.True(t, json.Valid([]byte(line)), "not JSON: %s", line)
	}
	require.Contains(t, w.Logs(), `"msg":"Started Worker"`, "Temporal's own lines come in the same form")
}

func TestWorkerEndsAtOnceOnASecondSignal(t *testing.T) {
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	w := s.StartWorker("SLUICE_STOP_TIMEOUT=10m")
	s.StarterWith(`{"jobs":[{"id":"slow","activity":"Ingest.AwaitTasks","input":{"run":"none","total":1}}]}`,
		"request", "run", "-f", "-").OK(t)
	w.Signal(syscall.SIGTERM)
	w.AwaitLog(t, "worker stopping")
	w.Signal(syscall.SIGTERM)
	require.NotEqual(t, -1, w.Wait(t, 30*time.Second))
}

// key is 32 bytes in base64.
var key = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))

func TestEncryptionHidesWhatHistoriesHold(t *testing.T) {
	s := harness.Start(t, harness.Options{Env: []string{"SLUICE_ENCRYPTION_KEY=" + key}})
	s.Starter("setup").OK(t)
	s.StartWorker()
	bucket := s.Name("secret-bucket")
	id := s.Name("request")
	r := s.StarterWith(`{"jobs":[{"id":"look","activity":"S3.List","input":{"bucket":"`+bucket+`"}}]}`,
		"request", "run", "--id", id, "-f", "-", "--wait").Exits(t, 1)
	require.Contains(t, r.Stderr+r.Stdout, bucket, "the starter has the key")

	history := s.Temporal("workflow", "show", "--workflow-id", id, "--output", "json").OK(t).Stdout
	require.Contains(t, history, base64.StdEncoding.EncodeToString([]byte("binary/encrypted")))
	require.NotContains(t, history, bucket)
	require.NotContains(t, history, base64.StdEncoding.EncodeToString([]byte(bucket))[:12])
}

func TestLargePayloadsTravelByReference(t *testing.T) {
	s := harness.Start(t)
	bucket := s.NewBucket()
	s = harness.Start(t, harness.Options{Env: []string{"SLUICE_PAYLOAD_BUCKET=" + bucket}})
	s.Starter("setup").OK(t)
	s.StartWorker()
	id := s.Name("request")
	text := strings.Repeat("x", 900<<10)
	s.StarterWith(`{"args":{"text":"`+text+`"},"jobs":[{"id":"look","activity":"S3.List","input":{"bucket":"`+bucket+`"}}]}`,
		"request", "run", "--id", id, "-f", "-", "--wait").OK(t)
	history := s.Temporal("workflow", "show", "--workflow-id", id, "--output", "json").OK(t).Stdout
	require.Less(t, len(history), 200<<10, "the text is in the history")
	listed, err := s.S3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
	require.NoError(t, err)
	require.NotEmpty(t, listed.Contents)
}

func TestPrintCLIShowsAWorkingCommand(t *testing.T) {
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	bucket := s.NewBucket()
	id := s.Name("request")
	r := s.StarterWith(`{"jobs":[{"id":"look","activity":"S3.List","input":{"bucket":"`+bucket+`"}}]}`,
		"--print-cli", "request", "run", "--id", id, "-f", "-", "--wait").OK(t)
	require.True(t, json.Valid([]byte(r.Stdout)), "standard output holds the result only")
	require.Contains(t, r.Stderr, "temporal workflow start --type Request --task-queue "+s.TaskQueue+" --workflow-id "+id)
	status := s.Starter("--print-cli", "request", "status", id).OK(t)
	require.Contains(t, status.Stderr, "temporal workflow query --workflow-id "+id+" --type status")
	s.Temporal("workflow", "query", "--workflow-id", id, "--type", "status").OK(t)
}

func TestUsage(t *testing.T) {
	s := harness.Start(t)
	for _, args := range [][]string{{}, {"no-such-group"}, {"request", "run", "--no-such-flag"}} {
		r := s.Starter(args...)
		require.Equal(t, 2, r.Code, "%v: %s", args, r.Stderr)
		require.Empty(t, r.Stdout)
	}
	help := s.Starter("--help").OK(t)
	for _, group := range []string{"request", "resumer", "dynamodb", "kinesis", "producer", "throughput", "quiescence", "count", "claim", "ingest", "setup", "doctor", "history", "codec-server"} {
		require.Contains(t, help.Stdout, group)
	}
}
