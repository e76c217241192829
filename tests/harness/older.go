package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// OlderWorker builds the worker of the revision that SLUICE_UPGRADE_FROM names, such
// as the commit of the last release, in a copy of the tree of its own. Without it this
// tree's worker is built under another version.
func OlderWorker(t testing.TB) string {
	t.Helper()
	dir, tree := t.TempDir(), Root()
	if revision := os.Getenv("SLUICE_UPGRADE_FROM"); revision != "" {
		tree = filepath.Join(dir, "tree")
		script := fmt.Sprintf("mkdir %q && git archive %q | tar -x -C %q", tree, revision, tree)
		if err := run("bash", "-euo", "pipefail", "-c", script); err != nil {
			t.Fatalf("the tree of %s: %v", revision, err)
		}
	}
	path := filepath.Join(dir, "worker")
	build := exec.Command("go", "build", "-ldflags", "-X sluice.version=older", "-o", path, "./worker")
	build.Dir = tree
	if err := locked(func() error {
		out, err := build.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}); err != nil {
		t.Fatalf("build the older worker: %v", err)
	}
	return path
}
