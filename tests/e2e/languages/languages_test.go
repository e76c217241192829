// Package languages_test runs jobs that are not written in Go, and holds docs/languages.md
// to the code that it runs.
package languages_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) {
	code := harness.Main(m, "--no-ui")
	_ = os.RemoveAll(compiled.dir)
	os.Exit(code)
}

var compiled struct {
	once sync.Once
	dir  string
}

// typescript is a stack with the compiled code of the page.
type typescript struct {
	*harness.Stack
	t        *testing.T
	compiled string
	modules  string
}

func newTypescript(t *testing.T) *typescript {
	harness.Make(t, "typescript")
	source, err := filepath.Abs("typescript")
	require.NoError(t, err)
	ts := &typescript{Stack: harness.Start(t), t: t, modules: filepath.Join(source, "node_modules")}
	compiled.once.Do(func() {
		dir, err := os.MkdirTemp("", "typescript-")
		require.NoError(t, err)
		compile := exec.CommandContext(t.Context(), "node", filepath.Join(ts.modules, "typescript/bin/tsc"), "--project", source, "--outDir", dir)
		out, err := compile.CombinedOutput()
		require.NoError(t, err, "%s", out)
		compiled.dir = dir
	})
	require.NotEmpty(t, compiled.dir)
	ts.compiled = compiled.dir
	return ts
}

func (ts *typescript) worker() *harness.Process {
	ts.t.Helper()
	return ts.Launch("worker in TypeScript", "node", []string{filepath.Join(ts.compiled, "worker.js")}, "NODE_PATH="+ts.modules)
}

func (ts *typescript) client(args ...string) harness.Result {
	ts.t.Helper()
	return ts.Shell(ts.compiled, fmt.Sprintf("NODE_PATH=%q node client.js %s", ts.modules, strings.Join(args, " ")))
}

// rows are those copied so far, in the order of copying.
func rows(t *testing.T, file string) []string {
	raw, err := os.ReadFile(file)
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return strings.Fields(string(raw))
}

// awaitRows waits until so many rows more are copied than were.
func (ts *typescript) awaitRows(file string, more int) {
	ts.t.Helper()
	before := len(rows(ts.t, file))
	harness.Await(ts.t, "rows are copied", func(context.Context) error {
		if n := len(rows(ts.t, file)); n < before+more {
			return fmt.Errorf("%d of %d", n, before+more)
		}
		return nil
	})
}

// A job in TypeScript is suspended in the middle, its worker killed, and it goes on at
// the very row; as it does when its worker is told to stop. A worker that is killed while
// it copies costs what it had not heartbeat yet, and no try.
func TestAJobInTypeScriptGoesOnWhereItWas(t *testing.T) {
	ts := newTypescript(t)
	ts.StartWorker()
	const total = 80
	id, file := ts.Name("copy"), filepath.Join(t.TempDir(), "rows")
	worker := ts.worker()
	ts.client("start", id, file, fmt.Sprint(total)).OK(t)
	ts.awaitRows(file, 5)
	var status struct {
		State    string
		Stopping int
	}
	require.NoError(t, json.Unmarshal([]byte(ts.client("suspend", id).OK(t).Stdout), &status))
	require.Equal(t, "SUSPENDED", status.State)
	require.Zero(t, status.Stopping)
	worker.Kill()
	held := len(rows(t, file))
	require.Less(t, held, total, "suspended in the middle")

	worker = ts.worker()
	ts.client("resume", id).OK(t)
	ts.awaitRows(file, 5)
	worker.Signal(syscall.SIGTERM)
	require.Zero(t, worker.Wait(t, time.Minute))
	stopped := rows(t, file)
	for i, row := range stopped {
		require.Equal(t, fmt.Sprint(i), row, "after a suspension and a stop each row is copied once")
	}
	require.Less(t, len(stopped), total-20, "stopped in the middle")

	worker = ts.worker()
	ts.awaitRows(file, 12)
	worker.Kill()
	ts.worker()
	var result struct {
		State string
		Jobs  map[string]struct {
			Key  string
			From int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(ts.client("result", id).OK(t).Stdout), &result))
	require.Equal(t, "COMPLETE", result.State)
	require.Equal(t, "copy/1", result.Jobs["copy"].Key, "a lost worker uses no try up")
	require.Greater(t, result.Jobs["copy"].From, len(stopped), "it went on from a heartbeat of the worker that was killed")
	seen := map[string]bool{}
	for _, row := range rows(t, file) {
		seen[row] = true
	}
	require.Len(t, seen, total, "no row is missing")
	require.Equal(t, fmt.Sprint(len(stopped)), rows(t, file)[len(stopped)], "the worker after the one that stopped began at the next row")
}

// What a job in TypeScript fails with has a type, and so has what its client gets.
func TestErrorsOfAJobInTypeScriptHaveTypes(t *testing.T) {
	ts := newTypescript(t)
	ts.StartWorker()
	ts.worker()
	id := ts.Name("refused")
	ts.client("start", id, "nowhere", "0").OK(t)
	failed := ts.client("result", id).Exits(t, 1)
	require.Contains(t, failed.Stderr, "RequestFailed")
	require.Contains(t, failed.Stderr, "rows: must be above 0, not 0")
	status := ts.client("status", id).OK(t).Stdout
	require.Contains(t, status, `"tries":1`, "what is InvalidInput is not repeated")
}

// block is a block of the page, under the name of its file.
var block = regexp.MustCompile("(?ms)^`([A-Za-z]+\\.(ts|py|java))`[^\n]*\n\n```(ts|python|java)\n(.*?)^```$")

// The page shows the files that are run, whole; those that nothing runs here have at least
// no fault of grammar.
func TestThePageShowsTheFilesThatRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(harness.Root(), "docs", "languages.md"))
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		file := filepath.Join(map[string]string{"ts": "typescript", "python": "python", "java": "java"}[m[3]], m[1])
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(raw), m[4], "docs/languages.md shows another %s", file)
		shown[file] = true
	}
	for _, pattern := range []string{"typescript/*.ts", "python/*.py", "java/*.java"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			if file != "java/Parse.java" {
				require.True(t, shown[file], "docs/languages.md does not show %s", file)
			}
		}
	}
	require.Len(t, regexp.MustCompile("(?m)^```(ts|python|java)$").FindAllString(string(page), -1), len(shown), "a block is no file's")
}

func TestJobsInPythonAndJavaHaveNoFaultOfGrammar(t *testing.T) {
	for language, check := range map[string][]string{
		"python": {"python3", "-c", "import ast,sys\nfor f in sys.argv[1:]: ast.parse(open(f).read(), f)", "python/*.py"},
		"java":   {"java", "java/Parse.java", "java/[HJM]*.java"},
	} {
		t.Run(language, func(t *testing.T) {
			if _, err := exec.LookPath(check[0]); err != nil {
				t.Skipf("no %s here", check[0])
			}
			last := len(check) - 1
			files, err := filepath.Glob(check[last])
			require.NoError(t, err)
			require.NotEmpty(t, files)
			out, err := exec.CommandContext(t.Context(), check[0], append(check[1:last:last], files...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
