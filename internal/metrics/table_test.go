package metrics

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table into docs/metrics.md")

const root = "../.."

// A metric that the code counts and the table does not have would be without HELP, and
// in no page.
func TestTheTableIsWhatTheCodeCounts(t *testing.T) {
	literal := regexp.MustCompile(`"(sluice_[a-z_]+)"`)
	used := map[string]bool{}
	for _, floor := range []string{"activities", "workflows", "worker"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, floor), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range literal.FindAllStringSubmatch(string(text), -1) {
				used[found[1]] = true
			}
			return err
		}))
	}
	var table []string
	for _, m := range Table() {
		table = append(table, m.Name)
		require.NotEmpty(t, m.Help, m.Name)
	}
	slices.Sort(table)
	require.Equal(t, slices.Sorted(maps.Keys(used)), table)
}

func TestThePageHasTheTable(t *testing.T) {
	const begin, end = "<!-- made of internal/metrics -->\n", "<!-- end -->\n"
	path := filepath.Join(root, "docs", "metrics.md")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(raw), begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := before + begin + Markdown() + end + after
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(raw), "write it anew: go test ./internal/metrics -update")
}
