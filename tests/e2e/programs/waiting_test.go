package programs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// soon is how long a waiting command may take to tell why nothing moves: ten
// seconds, and as many for a machine that is busy.
const soon = 20 * time.Second

// tells waits until a command that runs says all of this, within the time that a
// person is promised.
func tells(t *testing.T, command *harness.Process, began time.Time, words ...string) {
	t.Helper()
	for _, part := range words {
		command.AwaitLog(t, part)
	}
	require.Less(t, time.Since(began), soon+10*time.Second)
	t.Logf("told after %s:\n%s", time.Since(began).Round(time.Second), command.Logs())
}

// interrupt ends a command as Ctrl-C does: what it started goes on.
func interrupt(t *testing.T, command *harness.Process, look string) {
	t.Helper()
	command.Signal(syscall.SIGINT)
	require.Equal(t, 3, command.Wait(t, soon), command.Logs())
	require.Contains(t, command.Logs(), "goes on; look with: starter "+look)
}

// status reads waitsFor and lastError of a status that is alive.
func status(t *testing.T, s *harness.Stack, args ...string) (waitsFor []string, lastError string) {
	t.Helper()
	var told struct {
		WaitsFor  []string
		LastError string
	}
	r := s.Starter(args...).Exits(t, 3)
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &told), r.Stdout)
	return told.WaitsFor, told.LastError
}

func TestAWaitWithoutAWorkerSaysSo(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	began := time.Now()
	id := s.Name("request")
	waiting := s.LaunchStarter("dynamodb", "list-tables", "--cli-input-json", "{}", "--id", id, "--wait")
	tells(t, waiting, began, "no worker polls queue "+s.TaskQueue)
	interrupt(t, waiting, "request status "+id)
	s.Starter("request", "status", id).Exits(t, 1)
}

func TestAWaitOnAJobWhoseQueueNobodyPollsSaysSo(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	nobody, id := s.Name("nobody"), s.Name("request")
	document := filepath.Join(t.TempDir(), "request.json")
	require.NoError(t, os.WriteFile(document, []byte(`{"jobs":[{"id":"a","activity":"x","taskQueue":"`+nobody+`"}]}`), 0o600))
	began := time.Now()
	waiting := s.LaunchStarter("request", "run", "--id", id, "-f", document, "--wait")
	tells(t, waiting, began, "RUNNING 0/1; waits for a worker: no worker polls queue "+nobody)
	interrupt(t, waiting, "request status "+id)
	waitsFor, _ := status(t, s, "request", "status", id)
	require.Contains(t, strings.Join(waitsFor, " "), "no worker polls queue "+nobody)
}

func TestAWaitWithoutCredentialsEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker("AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null")
	stream := s.NewStream(1)
	began := time.Now()
	r := s.Starter("kinesis", "put-records", "--wait", "--cli-input-json",
		`{"StreamName":"`+stream+`","Records":[{"Data":"eA==","PartitionKey":"a"}]}`).Exits(t, 1)
	require.Less(t, time.Since(began), soon)
	require.Contains(t, r.Stderr+r.Stdout, "AccessDenied")
	require.Contains(t, r.Stderr+r.Stdout, "AWS_ACCESS_KEY_ID")
}

func TestAWaitOnAPausedBudgetSaysSo(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	s.Starter("throughput", "pause", "--all", "--reason", "maintenance").OK(t)
	began := time.Now()
	id := s.Name("request")
	waiting := s.LaunchStarter("dynamodb", "list-tables", "--cli-input-json", "{}", "--id", id, "--wait")
	tells(t, waiting, began, "is paused")
	interrupt(t, waiting, "request status "+id)
	_, lastError := status(t, s, "request", "status", id)
	require.Contains(t, lastError, "is paused")
}

func TestAWatchOfAMissingTableTellsItsError(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	began := time.Now()
	id := s.Name("quiescence")
	waiting := s.LaunchStarter("quiescence", "run", "--table", s.Name("absent"), "--counter", "b", "--delay", "1s", "--id", id, "--wait")
	tells(t, waiting, began, "last error:", "NotFound")
	interrupt(t, waiting, "quiescence status "+id)
	_, lastError := status(t, s, "quiescence", "status", id)
	require.Contains(t, lastError, "NotFound")
}

func TestAWatchThatNeverCouldPollEndsWithItsError(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	r := s.Starter("quiescence", "run", "--table", s.Name("absent"), "--counter", "b", "--delay", "1s", "--deadline", "3s", "--wait").Exits(t, 1)
	require.Contains(t, r.Stderr, "ended: deadline; last error: ")
	require.Contains(t, r.Stdout, `"lastError": "DynamoDB.GetItem`)
}

func TestAClaimerWithoutAzureSettingsSaysSo(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker("AZURE_STORAGE_CONNECTION_STRING=", "AZURE_STORAGE_QUEUE_URL=")
	name := s.Name("claimer")
	s.Starter("claim", "run", name, "--queue", "tasks").OK(t)
	harness.Await(t, "the reason", func(context.Context) error {
		waitsFor, lastError := status(t, s, "claim", "status", name)
		if !strings.Contains(strings.Join(waitsFor, " "), "no worker polls queue "+s.TaskQueue+"-azure") {
			return fmt.Errorf("waits for %q, last error %q", waitsFor, lastError)
		}
		return nil
	})
}

func TestAProducerOfAMissingStreamTellsItsError(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	stream := s.Name("absent")
	s.Starter("producer", "run", stream).OK(t)
	s.Starter("producer", "add", stream, "--data", "x", "--partition-key", "k").OK(t)
	harness.Await(t, "the error", func(context.Context) error {
		if _, lastError := status(t, s, "producer", "status", stream); !strings.Contains(lastError, stream) {
			return fmt.Errorf("last error: %q", lastError)
		}
		return nil
	})
	flush := s.Starter("producer", "flush", stream, "--answer-within", "1s").Exits(t, 3)
	require.Contains(t, flush.Stderr, "1 record not sent yet; last error: ")
	require.NotContains(t, flush.Stderr, "worker")
}
