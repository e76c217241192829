package pages_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// A block is a fenced part of a page, with what the comment before it says.
type block struct {
	line                           int
	language, text                 string
	notRun, schema, file, notInput string
}

// pages are README.md and all of docs/, from the root of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/recipes/*.md"} {
		paths, err := filepath.Glob(filepath.Join(harness.Root(), pattern))
		require.NoError(t, err)
		for _, path := range paths {
			page, err := filepath.Rel(harness.Root(), path)
			require.NoError(t, err)
			found = append(found, page)
		}
	}
	require.Greater(t, len(found), 10)
	return found
}

var (
	fenced = regexp.MustCompile("(?ms)(?:^<!-- ([^\n]*) -->\n)?^```([a-z]*)\n(.*?)^```$")
	schema = regexp.MustCompile(`^schema: ([a-z0-9.-]+)(?:, file: (\S+))?$`)
)

// blocks are a page's fenced parts in their order.
func blocks(t *testing.T, page string) (found []block) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(harness.Root(), page))
	require.NoError(t, err)
	text := string(raw)
	for _, m := range fenced.FindAllStringSubmatchIndex(text, -1) {
		b := block{language: text[m[4]:m[5]], text: text[m[6]:m[7]], line: 1 + strings.Count(text[:m[4]], "\n")}
		if m[2] >= 0 {
			comment := text[m[2]:m[3]]
			b.notRun = behind(comment, "not run: ")
			b.notInput = behind(comment, "not an input of Sluice: ")
			if s := schema.FindStringSubmatch(comment); s != nil {
				b.schema, b.file = s[1], s[2]
			}
		}
		found = append(found, b)
	}
	return found
}

// behind is what follows the prefix, nothing where it isn't there.
func behind(comment, prefix string) string {
	if rest, found := strings.CutPrefix(comment, prefix); found {
		return rest
	}
	return ""
}

// Every block says what it is, so that none is passed over.
func TestEveryBlockOfThePagesSaysWhatItIs(t *testing.T) {
	known := []string{"sh", "console", "json", "yaml", "toml", "go", "ts", "python", "java"}
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if !slices.Contains(known, b.language) {
				t.Errorf("%s:%d: a block is one of %v, not %q", page, b.line, known, b.language)
			}
		}
	}
}
