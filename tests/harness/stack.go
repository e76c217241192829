package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Main runs a package's tests and then ends the stack that they shared, which got
// these arguments for `devstack up`. TestMain passes its answer to os.Exit.
func Main(m *testing.M, args ...string) int {
	shared.args = args
	defer stopShared()
	return m.Run()
}

// Options ask for more than a share of the package's stack.
type Options struct {
	// Own starts a stack for this test alone, with these arguments for
	// `devstack up`.
	Own  bool
	Args []string
	// TaskQueue replaces the test's own task queue.
	TaskQueue string
	// Env is set for the worker, the starter and the command line ("K=V").
	Env []string
}

// A Stack is a test's view of a running dev stack.
type Stack struct {
	Clients
	// TaskQueue is the test's own; workers and starters get it.
	TaskQueue string
	Guard     *Guard

	t   testing.TB
	env map[string]string
	run *running
}

// running is a stack that one or many tests use.
type running struct {
	env     map[string]string
	process *Process // nil: attached to one that somebody else started
	dir     string
	clients Clients
}

var shared struct {
	mu   sync.Mutex
	args []string
	run  *running
	err  error
}

// Start gives the test a stack: the package's, or one of its own.
func Start(t testing.TB, options ...Options) *Stack {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	r, err := obtain(t, o)
	if err != nil {
		t.Fatalf("dev stack: %v", err)
	}
	s := &Stack{Clients: r.clients, TaskQueue: o.TaskQueue, Guard: NewGuard(r.env["SLUICE_GUARD_ADMIN"]), t: t, env: maps.Clone(r.env), run: r}
	if s.TaskQueue == "" {
		s.TaskQueue = s.Name("queue")
	}
	s.env["SLUICE_TASK_QUEUE"] = s.TaskQueue
	// A budget lives on the task queue of the worker that first needed it; tests
	// on other queues must not wait for workers that have ended.
	s.env["SLUICE_THROUGHPUT_SCOPE"] = s.TaskQueue
	for _, v := range o.Env {
		name, value, _ := strings.Cut(v, "=")
		s.env[name] = value
	}
	return s
}

func obtain(t testing.TB, o Options) (*running, error) {
	if o.Own {
		r, err := launch(o.Args)
		if err == nil {
			t.Cleanup(r.stop)
		}
		return r, err
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.run == nil && shared.err == nil {
		shared.run, shared.err = join()
	}
	return shared.run, shared.err
}

// join attaches to the stack that the environment names, or launches one.
func join() (*running, error) {
	if os.Getenv("SLUICE_ATTACH") != "1" {
		return launch(shared.args)
	}
	env := map[string]string{}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		for _, prefix := range []string{"TEMPORAL_", "AWS_", "AZURE_", "SLUICE_"} {
			if strings.HasPrefix(name, prefix) {
				env[name] = value
			}
		}
	}
	if env["TEMPORAL_ADDRESS"] == "" {
		return nil, errors.New("SLUICE_ATTACH=1 but no TEMPORAL_ADDRESS: source .devstack/env")
	}
	clients, err := connect(env)
	return &running{env: env, clients: clients}, err
}

func stopShared() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.run != nil {
		shared.run.stop()
	}
}

// launch starts the devstack program in a state directory of its own.
func launch(args []string) (*running, error) {
	binary, err := devstackBinary()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-stack-")
	if err != nil {
		return nil, err
	}
	r := &running{dir: dir}
	if err := r.launch(binary, args); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

func (r *running) launch(binary string, args []string) error {
	out := &buffer{}
	args = append([]string{"up", "--no-demo", "--state", filepath.Join(r.dir, "state")}, args...)
	process, err := startProcess("devstack", binary, args, cleanEnv(nil), Root(), out)
	if err != nil {
		return err
	}
	r.process = process
	for !strings.HasSuffix(out.String(), "\n") {
		select {
		case <-process.Done():
			return fmt.Errorf("ended:\n%s", process.Logs())
		case <-time.After(20 * time.Millisecond):
		}
	}
	var ready struct {
		Env map[string]string `json:"env"`
	}
	scanner := bufio.NewScanner(strings.NewReader(out.String()))
	scanner.Buffer(nil, 1<<20)
	scanner.Scan()
	if err := json.Unmarshal(scanner.Bytes(), &ready); err != nil {
		return fmt.Errorf("its line %q: %w", scanner.Text(), err)
	}
	r.env = ready.Env
	r.clients, err = connect(r.env)
	return err
}

func (r *running) stop() {
	if r.clients.Client != nil {
		r.clients.Client.Close()
	}
	if r.process != nil {
		r.process.Signal(os.Interrupt)
		select {
		case <-r.process.Done():
		case <-time.After(30 * time.Second):
			r.process.Kill()
		}
	}
	if r.dir != "" {
		_ = os.RemoveAll(r.dir)
	}
}

// cleanEnv is the test's environment without what could point elsewhere, and
// with the given variables.
func cleanEnv(env map[string]string) []string {
	var list []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		keep := !slices.ContainsFunc([]string{"AWS_", "AZURE_", "SLUICE_", "TEMPORAL_"}, func(prefix string) bool {
			return strings.HasPrefix(name, prefix)
		})
		if keep || name == "TEMPORAL_CLI" || name == "SLUICE_NODE_MODULES" {
			list = append(list, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
