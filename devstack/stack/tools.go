package stack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// places are the directories in which the clone's own tools are looked for: where
// the command runs, and where this program was built.
func places() []string {
	found := []string{"."}
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			found = append(found, filepath.Dir(self), filepath.Dir(filepath.Dir(self)))
		}
	}
	return found
}

// findTemporal answers the absolute path of the temporal binary.
func findTemporal(given string) (string, error) {
	if given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("temporal binary: %w", err)
		}
		return filepath.Abs(path)
	}
	for _, dir := range places() {
		for _, name := range []string{".bin/temporal", "../.bin/temporal"} {
			if path, err := exec.LookPath(absolute(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	path, err := exec.LookPath("temporal")
	if err != nil {
		return "", fmt.Errorf("no temporal binary: set TEMPORAL_CLI, put it on PATH, or build it with `make tools`")
	}
	return filepath.Abs(path)
}

// FindModules answers the absolute path of a node_modules directory that holds
// the emulators.
func FindModules(given string) (string, error) {
	candidates := []string{given}
	if given == "" {
		candidates = nil
		for _, dir := range places() {
			candidates = append(candidates, absolute(dir, "devstack/node_modules"), absolute(dir, "node_modules"))
		}
	}
	for _, dir := range candidates {
		if _, err := os.Stat(filepath.Join(dir, "dynalite", "package.json")); err == nil {
			return filepath.Abs(dir)
		}
	}
	return "", fmt.Errorf("no emulators in %v: run `npm ci` in devstack/, or `make tools`", candidates)
}

func absolute(dir, name string) string {
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return filepath.Join(dir, name)
	}
	return path
}
