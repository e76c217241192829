package programs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// wire passes connections on to Temporal until it is cut.
type wire struct {
	t        *testing.T
	address  string
	listener net.Listener

	mu   sync.Mutex
	open []net.Conn
	cut  bool
}

func newWire(t *testing.T, target string) *wire {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{t: t, address: target, listener: listener}
	t.Cleanup(func() { _ = listener.Close(); w.set(true) })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			w.pass(near)
		}
	}()
	return w
}

func (w *wire) pass(near net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		_ = near.Close()
		return
	}
	far, err := net.Dial("tcp", w.address)
	if err != nil {
		_ = near.Close()
		return
	}
	w.open = append(w.open, near, far)
	go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
	go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
}

// set cuts the wire, with all that is open, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.open {
		_ = c.Close()
	}
	w.open = nil
}

type readyAnswer struct {
	Ready   bool
	Current *bool
	Checks  []struct {
		Name, TaskQueue, Kind, Error string
		OK                           bool
	}
}

func readyz(ctx context.Context, w *harness.Worker) (code int, answer readyAnswer, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Metrics+"/readyz", nil)
	if err != nil {
		return 0, answer, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, answer, err
	}
	defer response.Body.Close()
	return response.StatusCode, answer, json.NewDecoder(response.Body).Decode(&answer)
}

func awaitReady(t *testing.T, w *harness.Worker, want int) (last readyAnswer) {
	t.Helper()
	harness.Await(t, fmt.Sprintf("/readyz answers %d", want), func(ctx context.Context) error {
		code, answer, err := readyz(ctx, w)
		if err != nil || code != want {
			return fmt.Errorf("%d %+v: %w", code, answer, err)
		}
		last = answer
		return nil
	})
	return last
}

// A worker was ready for 15 s after Temporal had gone.
func TestAWorkerIsNotReadyWhileTemporalIsGone(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	between := newWire(t, s.Env("TEMPORAL_ADDRESS"))
	w := s.StartWorker("TEMPORAL_ADDRESS=" + between.listener.Addr().String())
	before := awaitReady(t, w, http.StatusOK)
	polled := map[string]bool{}
	for _, c := range before.Checks {
		polled[c.TaskQueue+" "+c.Kind] = true
	}
	for _, want := range []string{s.TaskQueue + " workflow", s.TaskQueue + " activity", s.TaskQueue + "-azure activity"} {
		require.True(t, polled[want], "%s: %+v", want, before)
	}
	require.Nil(t, before.Current, "it has no version")

	between.set(true)
	gone := awaitReady(t, w, http.StatusServiceUnavailable)
	require.False(t, gone.Ready)
	require.NotEmpty(t, gone.Checks[1].Error)
	between.set(false)
	awaitReady(t, w, http.StatusOK)
}

// What a worker had found out nobody was told, nor that a version that is not current
// gets no work.
func TestTheFirstLineTellsWhatAWorkerFound(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	deployment := s.Name("deployment")
	w := s.StartWorker("SLUICE_LOG_FORMAT=json", "SLUICE_DEPLOYMENT="+deployment, "SLUICE_BUILD_ID=b1", "SLUICE_ENCRYPTION_KEY=2025:"+keyOf(3))
	var first map[string]any
	line, _, _ := strings.Cut(w.Logs(), "\n")
	require.NoError(t, json.Unmarshal([]byte(line), &first), line)
	require.NotEmpty(t, first["version"])
	for field, want := range map[string]any{
		"msg": "worker starts", "temporal": s.Env("TEMPORAL_ADDRESS"), "namespace": s.Env("TEMPORAL_NAMESPACE"), "taskQueue": s.TaskQueue,
		"deployment": deployment, "buildId": "b1", "current": false, "awsRegion": "us-east-1",
		"awsAccount": "000000000000", "encryption": "on, with the key 2025",
	} {
		require.Equal(t, want, first[field], field)
	}
	require.Regexp(t, `^127\.0\.0\.1:\d+/\w+$`, first["azure"])
	require.NotContains(t, w.Logs(), keyOf(3))
	var answer readyAnswer
	harness.Await(t, "it is ready, and knows whether it is current", func(ctx context.Context) error {
		var err error
		if _, answer, err = readyz(ctx, w); err != nil || !answer.Ready || answer.Current == nil {
			return fmt.Errorf("%+v: %w", answer, err)
		}
		return nil
	})
	require.False(t, *answer.Current, "it gets no new work")

	command, ok := first["makeCurrent"].(string)
	require.True(t, ok)
	harness.Await(t, "the command of the first line makes it current", func(context.Context) error {
		r := s.Temporal(append(strings.Fields(command)[1:], "--ignore-missing-task-queues")...)
		if r.Code != 0 {
			return fmt.Errorf("%s: %s", command, r.Stderr)
		}
		return nil
	})
	harness.Await(t, "it knows that it is current", func(ctx context.Context) error {
		_, answer, err := readyz(ctx, w)
		if err != nil || answer.Current == nil || !*answer.Current {
			return fmt.Errorf("%+v: %w", answer, err)
		}
		return nil
	})
	w.AwaitLog(t, "this version is current now")

	none := s.LaunchWorker("AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_SHARED_CREDENTIALS_FILE=/none", "AWS_CONFIG_FILE=/none",
		"AWS_REGION=", "AZURE_STORAGE_CONNECTION_STRING=")
	none.AwaitLog(t, "worker starts")
	for _, want := range []string{"none: set AWS_REGION", "none: no credentials; set AWS_ACCESS_KEY_ID", "no Azure queues: set AZURE_STORAGE_CONNECTION_STRING", `"encryption": "off"`, `"deployment": "none"`} {
		require.Contains(t, none.Logs(), want)
	}
}
