package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Worker is a running worker process.
type Worker struct {
	*Process
	// Metrics is the base URL of /metrics, /healthz and /readyz.
	Metrics string
}

// Scrape reads the worker's metrics, in Prometheus' text form.
func (w *Worker) Scrape(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Metrics+"/metrics", nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// StartWorker starts a worker on the test's task queue, with more environment
// ("K=V"), and returns when it says that it is ready. It ends with the test; its
// logs are printed if the test failed.
func (s *Stack) StartWorker(env ...string) *Worker {
	s.t.Helper()
	return s.ready(s.LaunchWorker(env...))
}

// StartWorkerOf is StartWorker of another build of the program.
func (s *Stack) StartWorkerOf(path string, env ...string) *Worker {
	s.t.Helper()
	return s.ready(s.launchWorker(path, env...))
}

// ready waits until a worker says that it is.
func (s *Stack) ready(w *Worker) *Worker {
	s.t.Helper()
	Await(s.t, "worker is ready", func(ctx context.Context) error {
		if !w.Running() {
			return Never(fmt.Errorf("it ended:\n%s", w.Logs()))
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Metrics+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
	return w
}

// LaunchWorker starts a worker without waiting until it is ready.
func (s *Stack) LaunchWorker(env ...string) *Worker {
	s.t.Helper()
	return s.launchWorker(s.binary("worker"), env...)
}

func (s *Stack) launchWorker(path string, env ...string) *Worker {
	s.t.Helper()
	address, err := freeAddress()
	if err != nil {
		s.t.Fatal(err)
	}
	all := append(s.environment(), "SLUICE_METRICS_ADDRESS="+address)
	p, err := startProcess("worker", path, nil, append(all, env...), Root(), nil)
	if err != nil {
		s.t.Fatalf("worker: %v", err)
	}
	s.t.Cleanup(func() {
		if p.Running() {
			p.Kill()
		}
		if s.t.Failed() {
			s.t.Logf("worker %d:\n%s", p.Pid(), p.Logs())
		}
	})
	return &Worker{Process: p, Metrics: "http://" + address}
}

// LaunchProgram starts another main package of the module, such as a test's own
// worker, on the test's task queue unless env says otherwise. It ends with the
// test.
func (s *Stack) LaunchProgram(name string, env ...string) *Process {
	s.t.Helper()
	return s.Launch(name, s.binary(name), nil, env...)
}

// Launch is LaunchProgram of a program that is not of this module.
func (s *Stack) Launch(name, path string, args []string, env ...string) *Process {
	s.t.Helper()
	p, err := startProcess(name, path, args, append(s.environment(), env...), Root(), nil)
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	s.t.Cleanup(func() {
		if p.Running() {
			p.Kill()
		}
		if s.t.Failed() {
			s.t.Logf("%s %d:\n%s", name, p.Pid(), p.Logs())
		}
	})
	return p
}

// Result is what a command did.
type Result struct {
	Command        string
	Stdout, Stderr string
	Code           int
}

// OK fails the test unless the command ended with 0.
func (r Result) OK(t testing.TB) Result { t.Helper(); return r.Exits(t, 0) }

// Exits fails the test unless the command ended with this code.
func (r Result) Exits(t testing.TB, code int) Result {
	t.Helper()
	if r.Code != code {
		t.Fatalf("%s: exit %d, expected %d\nstdout:\n%s\nstderr:\n%s", r.Command, r.Code, code, r.Stdout, r.Stderr)
	}
	return r
}

// Starter runs the starter with the stack's environment.
func (s *Stack) Starter(args ...string) Result { s.t.Helper(); return s.StarterWith("", args...) }

// StarterWith is Starter with a text on standard input.
func (s *Stack) StarterWith(stdin string, args ...string) Result {
	s.t.Helper()
	return s.command(5*time.Minute, stdin, "starter", s.binary("starter"), args)
}

// LaunchStarter runs the starter in the background, output in its logs.
func (s *Stack) LaunchStarter(args ...string) *Process {
	s.t.Helper()
	p, err := startProcess("starter "+strings.Join(args, " "), s.binary("starter"), args, s.environment(), Root(), nil)
	if err != nil {
		s.t.Fatalf("starter: %v", err)
	}
	s.t.Cleanup(func() {
		if p.Running() {
			p.Kill()
		}
	})
	return p
}

// Temporal runs the `temporal` command line against the stack.
func (s *Stack) Temporal(args ...string) Result {
	s.t.Helper()
	return s.command(2*time.Minute, "", "temporal", s.env["TEMPORAL_CLI"], args)
}

// Shell runs a script in dir as somebody does who has sourced the stack's environment:
// the programs are on its PATH. It ends with the first command that fails.
func (s *Stack) Shell(dir, script string) Result {
	s.t.Helper()
	bin := filepath.Dir(s.binary("starter"))
	_ = s.binary("worker")
	path := strings.Join([]string{bin, filepath.Dir(s.env["TEMPORAL_CLI"]), os.Getenv("PATH")}, string(os.PathListSeparator))
	return s.command(5*time.Minute, "", "bash", "env", []string{"-C", dir, "PATH=" + path, "bash", "-euo", "pipefail", "-c", script})
}

func (s *Stack) command(atMost time.Duration, stdin, name, path string, args []string) Result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), atMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir = s.environment(), Root()
	cmd.Stdin = strings.NewReader(stdin)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	result := Result{Command: name + " " + strings.Join(args, " "), Stdout: out.String(), Stderr: errors.String()}
	if cmd.ProcessState == nil || ctx.Err() != nil {
		s.t.Fatalf("%s: %v\nstderr:\n%s", result.Command, err, result.Stderr)
	}
	result.Code = cmd.ProcessState.ExitCode()
	return result
}

func (s *Stack) environment() []string { return cleanEnv(s.env) }

func (s *Stack) binary(name string) string {
	s.t.Helper()
	path, err := Binary(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

// Record keeps a workflow's history as a replay test, under
// tests/replay/testdata/<type>/<scenario>.json: only with SLUICE_RECORD=1, and
// never over one that is there. The run is the last one unless one is given.
func (s *Stack) Record(workflowID, workflowType, scenario string, runID ...string) {
	s.t.Helper()
	path := filepath.Join(Root(), "tests/replay/testdata", workflowType, scenario+".json")
	if os.Getenv("SLUICE_RECORD") != "1" {
		return
	}
	if _, err := os.Stat(path); err == nil {
		return
	}
	args := []string{"workflow", "show", "--output", "json", "--workflow-id", workflowID}
	if len(runID) > 0 {
		args = append(args, "--run-id", runID[0])
	}
	history := s.Temporal(args...).OK(s.t).Stdout
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(history), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("recorded %s", path)
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
