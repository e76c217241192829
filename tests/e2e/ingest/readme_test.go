package ingest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// shellBlocks are the blocks of a page that its reader types, in order.
func shellBlocks(t *testing.T, page string) (blocks []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(harness.Root(), page))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(string(raw), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// What the README tells its reader to type works, in that order and as it stands.
func TestTheReadmesCommandsWorkAsTyped(t *testing.T) {
	s := harness.Start(t)
	s.StartWorker()
	dir := t.TempDir()
	blocks := shellBlocks(t, "README.md")
	require.GreaterOrEqual(t, len(blocks), 6, "five problems, and the objects that they work on")
	var printed string
	for _, block := range blocks {
		printed += s.Shell(dir, block).OK(t).Stdout
	}
	require.Contains(t, printed, `"reason": "quiet"`)
	require.Contains(t, printed, `"StoredRecordCount": 2`)

	var status struct{ State string }
	result := s.Temporal("workflow", "result", "--workflow-id", "nightly/1", "-o", "json").OK(t)
	var ended struct{ Result json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(result.Stdout), &ended))
	require.NoError(t, json.Unmarshal(ended.Result, &status))
	require.Equal(t, "COMPLETE", status.State)
}
