package replay_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"sluice"
)

var update = flag.Bool("update", false, "write what workflows ask for")

// A command is what a workflow asks of Temporal, with what the replayer of the SDK
// does not compare: inputs, timeouts, durations, search attributes, answers, results.
type command struct {
	kind   string
	fields map[string]string
}

// line is a command in one line; of what is long it has a digest.
func (c command) line() string {
	var b strings.Builder
	b.WriteString(c.kind)
	for _, name := range slices.Sorted(maps.Keys(c.fields)) {
		fmt.Fprintf(&b, " %s=%s", name, short(c.fields[name]))
	}
	return b.String()
}

const longest = 40

func short(value string) string {
	if len(value) <= longest && !strings.ContainsAny(value, "\n\r") {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return fmt.Sprintf("%d:%s", len(value), hex.EncodeToString(sum[:6]))
}

// TestCommandsAreAsBefore replays every history and compares what the workflow asks for,
// value by value, with testdata/<workflow type>/<scenario>.commands. The SDK's own
// replay compares kinds and names only: a timer of another length, an activity with
// another input passes it. Where the change is meant, `go test ./tests/replay -update`
// writes the files anew, and their difference is what to look at.
func TestCommandsAreAsBefore(t *testing.T) {
	histories, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	for _, path := range histories {
		name, _ := filepath.Rel("testdata", path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := commandsOf(t, path)
			var lines strings.Builder
			for _, c := range made {
				lines.WriteString(c.line() + "\n")
			}
			file := strings.TrimSuffix(path, ".json") + ".commands"
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(lines.String()), 0o644))
			}
			before, err := os.ReadFile(file)
			require.NoError(t, err, "run: go test ./tests/replay -update")
			if fault := difference(strings.Split(string(before), "\n"), made); fault != "" {
				t.Fatalf("%s\nif that is meant, run: go test ./tests/replay -update", fault)
			}
		})
	}
}

// TestEveryListOfCommandsHasItsHistory finds what is left of histories that went.
func TestEveryListOfCommandsHasItsHistory(t *testing.T) {
	lists, err := filepath.Glob("testdata/*/*.commands")
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, path := range lists {
		require.FileExists(t, strings.TrimSuffix(path, ".commands")+".json")
	}
}

func commandsOf(t *testing.T, path string) []command {
	t.Helper()
	history, made := load(t, path), &recorder{}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Plugins:                  []worker.Plugin{sluice.Plugin(nil)},
		Interceptors:             []interceptor.WorkerInterceptor{&recording{made: made}},
		DisableDeadlockDetection: true,
	})
	require.NoError(t, err)
	require.NoError(t, replayer.ReplayWorkflowHistoryWithOptions(nil, history, asRecorded(history)))
	return made.commands
}

// difference is the first command that is another than before; "" where there is none.
func difference(before []string, made []command) string {
	if before[len(before)-1] == "" {
		before = before[:len(before)-1]
	}
	for i := range max(len(before), len(made)) {
		switch {
		case i >= len(made):
			return fmt.Sprintf("command %d is asked for no more:\n  %s", i, before[i])
		case i >= len(before):
			return fmt.Sprintf("command %d is new:\n  %s", i, made[i].line())
		case before[i] != made[i].line():
			return fmt.Sprintf("command %d was\n  %s\nand is\n  %s\nwhich is %.3000v", i, before[i], made[i].line(), made[i].fields)
		}
	}
	return ""
}

// TestDifferencesAreSeen guards the comparison itself.
func TestDifferencesAreSeen(t *testing.T) {
	timer := func(d string) command { return command{"timer", map[string]string{"after": d}} }
	before := []string{timer("1s").line(), timer("2s").line(), ""}
	require.Empty(t, difference(before, []command{timer("1s"), timer("2s")}))
	require.Contains(t, difference(before, []command{timer("1s"), timer("3s")}), "after=3s")
	require.Contains(t, difference(before, []command{timer("1s")}), "no more")
	require.Contains(t, difference(before, []command{timer("1s"), timer("2s"), timer("1ms")}), "is new")
	long := func(end string) command {
		return command{"activity", map[string]string{"input": strings.Repeat("x", 100) + end}}
	}
	require.NotEmpty(t, difference([]string{long("a").line()}, []command{long("b")}), "a long input is compared as well")
}
