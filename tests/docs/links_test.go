// Package docs_test reads the pages that people read.
package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// pages are the paths of all Markdown files, from the root of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	require.NoError(t, err)
	names := strings.Fields(string(out))
	require.Contains(t, names, "README.md")
	return names
}

func read(t *testing.T, page string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	return string(raw)
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	tick    = regexp.MustCompile("`([^`\n]+)`")
)

// A link leads to a file of the repository, and to a heading that is there.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue // somebody else's page
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if anchor != "" && !anchors(read(t, target))[anchor] {
				t.Errorf("%s links to %s, where no heading is called that", page, m[1])
			}
		}
	}
}

// anchors are the names of a page's headings in links.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		all[name] = true
	}
	return all
}

// A file or folder that a page names is there under that name.
func TestNamedFilesAreThere(t *testing.T) {
	place := regexp.MustCompile(`^(activities|workflows|internal|worker|starter|devstack|tests|docs|ops)(/[A-Za-z0-9_.-]+)+/?$`)
	for _, page := range pages(t) {
		for _, m := range tick.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			if !place.MatchString(m[1]) {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
}

// Every page of docs/ can be reached from its index, and tells where to go next.
func TestDocsAreOneBook(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, page := range pages(t) {
		if filepath.Dir(page) != "docs" || page == "docs/README.md" {
			continue
		}
		if !strings.Contains(index, "]("+filepath.Base(page)+")") {
			t.Errorf("docs/README.md does not list %s", page)
		}
		if !strings.Contains(read(t, page), "\n## Where next\n") {
			t.Errorf("%s does not end with where to go next", page)
		}
	}
}
