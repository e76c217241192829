// Package pages_test types what the pages tell their reader to type: every block of
// commands of README.md and docs/, a page's in their order and in one shell, on a dev
// stack as `make up` leaves it. A comment before a block says what the test should know:
//
//	<!-- not run: REASON -->                 commands that cannot run here
//	<!-- schema: NAME, file: FILE -->        a document of this schema; written to FILE
//	<!-- not an input of Sluice: REASON -->  a document that no schema is for
package pages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) {
	harness.AtOnce(8) // pages wait more than they work
	os.Exit(harness.Main(m, "--demo"))
}

// asTyped is the stack as somebody finds it who has sourced .devstack/env.
var asTyped = harness.Options{TaskQueue: "sluice", Env: []string{"SLUICE_THROUGHPUT_SCOPE="}}

// alive lets the starter end with 3, which says that what it told of is not over yet.
const alive = "starter() { command starter \"$@\" || [ $? = 3 ]; }\n"

// printed is what a page's reader sees at its end, by page.
var printed = map[string][]string{
	"README.md":        {`"reason": "quiet"`, `"StoredRecordCount": 2`, `"state":"COMPLETE"`},
	"docs/dynamodb.md": {`"N": "12.5`},
	"docs/kinesis.md":  {`"StoredRecordCount": 2`},
	"docs/requests.md": {`"state": "COMPLETE"`},
	"docs/tutorial.md": {`"reason": "quiet"`, `"state": "SUSPENDED"`, `"state":"COMPLETE"`, `"stored"`},
}

// What the pages tell their reader to type works, in that order and as it stands.
func TestThePagesCommandsWorkAsTyped(t *testing.T) {
	harness.Start(t, asTyped).StartWorker()
	run, left := 0, 0
	for _, page := range pages(t) {
		var script strings.Builder
		script.WriteString(alive)
		dir, typed := t.TempDir(), run
		require.NoError(t, os.Symlink(filepath.Join(harness.Root(), "ops"), filepath.Join(dir, "ops")))
		for _, b := range blocks(t, page) {
			switch {
			case b.file != "":
				require.NoError(t, os.WriteFile(filepath.Join(dir, b.file), []byte(b.text), 0o600))
			case b.language != "sh":
			case b.notRun != "":
				left++
				t.Logf("%s:%d is not run: %s", page, b.line, b.notRun)
			default:
				run++
				fmt.Fprintf(&script, "echo '--- %s:%d' >&2\n%s", page, b.line, b.text)
			}
		}
		if run == typed {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			out := harness.Start(t, asTyped).Shell(dir, script.String()).OK(t).Stdout
			for _, want := range printed[page] {
				require.Contains(t, out, want)
			}
		})
	}
	require.GreaterOrEqual(t, run, 10)
	require.Less(t, left, run)
}
