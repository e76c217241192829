package layering_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// longest is where a file is likely to hold two ideas.
const longest = 350

// tracked lists the files of the tree that match a pattern.
func tracked(t *testing.T, pattern string) (files []string) {
	out, err := exec.Command("git", "-C", "../..", "ls-files", pattern).Output()
	require.NoError(t, err)
	for _, name := range strings.Fields(string(out)) {
		files = append(files, filepath.Join("../..", name))
	}
	require.NotEmpty(t, files)
	return files
}

// sources lists the Go files of both modules that are not tests.
func sources(t *testing.T) []string {
	return slices.DeleteFunc(tracked(t, "*.go"), func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// eachLine calls f for every line of the files that is not a comment.
func eachLine(t *testing.T, files []string, f func(file string, n int, line string)) {
	for _, name := range files {
		file, err := os.Open(name)
		if os.IsNotExist(err) {
			continue // deleted, not committed yet
		}
		require.NoError(t, err)
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			if !strings.HasPrefix(strings.TrimSpace(lines.Text()), "//") {
				f(name, n, lines.Text())
			}
		}
		require.NoError(t, lines.Err())
		require.NoError(t, file.Close())
	}
}

func TestFilesAreOneIdea(t *testing.T) {
	for _, name := range sources(t) {
		raw, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		if n := strings.Count(string(raw), "\n"); n > longest {
			t.Errorf("%s has %d lines, more than %d", name, n, longest)
		}
	}
}

// TestNothingSleepsOrPanics: waits are interruptible, and Temporal repeats a
// panic for ever.
func TestNothingSleepsOrPanics(t *testing.T) {
	forbidden := regexp.MustCompile(`\btime\.Sleep\(|\bpanic\(|\blog\.Fatal`)
	eachLine(t, sources(t), func(file string, n int, line string) {
		inProgram := strings.Contains(file, "/tests/") || strings.Contains(file, "/devstack/")
		if !inProgram && forbidden.MatchString(line) {
			t.Errorf("%s:%d: %s", file, n, strings.TrimSpace(line))
		}
	})
}

// TestResourcesAreMadeByTheHarness: what a test makes is awaited, which no caller
// can forget where one place makes it.
func TestResourcesAreMadeByTheHarness(t *testing.T) {
	made := regexp.MustCompile(`\.(CreateTable|CreateStream|CreateBucket|CreateQueue)\(|NewQueueClient\([^)]*\)\.Create\(`)
	place, found := filepath.Join("../..", "tests/harness/resources.go"), false
	eachLine(t, tracked(t, "tests/*.go"), func(file string, n int, line string) {
		switch {
		case !made.MatchString(line):
		case file == place:
			found = true
		default:
			t.Errorf("%s:%d: %s: make it by the harness, which waits until it can be used", file, n, strings.TrimSpace(line))
		}
	})
	require.True(t, found, "%s makes nothing: is it still the one place?", place)
}
