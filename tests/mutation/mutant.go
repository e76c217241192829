package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A mutant is the tree with one place changed.
type mutant struct {
	site
	root, dir string
	overlay   string
}

// caught tells which test notices the change, "" for none; and whether it compiles.
func (m *mutant) caught() (by string, compiles bool, err error) {
	if err := m.write(); err != nil {
		return "", false, err
	}
	pkg := "./" + filepath.Dir(m.file)
	if _, ok := m.run("build", "-overlay", m.overlay, "./workflows/...", "./activities/..."); !ok {
		return "", false, nil
	}
	for _, packages := range m.tests(pkg) {
		args := append([]string{"test", "-overlay", m.overlay, "-vet=off", "-failfast", "-timeout", "4m"}, packages...)
		if out, ok := m.run(args...); !ok {
			return failed(out), true, nil
		}
	}
	return "", true, nil
}

// tests are the packages that may notice, nearest first.
func (m *mutant) tests(pkg string) [][]string {
	if strings.HasPrefix(pkg, "./internal/") {
		return [][]string{{pkg}, {"./workflows/..."}, {"./tests/replay"}, {"./activities/..."}}
	}
	return [][]string{{"./workflows/..."}, {"./tests/replay"}}
}

// write makes the changed file and the overlay that puts it in place.
func (m *mutant) write() error {
	path := filepath.Join(m.root, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed := filepath.Join(m.dir, "changed.go")
	text := string(source[:m.from]) + m.with + string(source[m.to:])
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return err
	}
	m.overlay = filepath.Join(m.dir, "overlay.json")
	return os.WriteFile(m.overlay, overlay, 0o600)
}

// shown is the change in a few words.
func (m *mutant) shown() string {
	source, err := os.ReadFile(filepath.Join(m.root, m.file))
	if err != nil {
		return err.Error()
	}
	short := func(s string) string {
		s = strings.Join(strings.Fields(s), " ")
		return s[:min(len(s), 60)]
	}
	line := strings.Split(string(source), "\n")[m.line-1]
	return fmt.Sprintf("%s: %q for %q", short(line), short(m.with), short(string(source[m.from:m.to])))
}

func (m *mutant) run(args ...string) (out string, ok bool) {
	cmd := exec.Command("go", args...)
	cmd.Dir = m.root
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err.Error(), false
	}
	return string(text), err == nil
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// failed is the first test that failed, or why none could be run.
func failed(out string) string {
	if found := failedTest.FindAllStringSubmatch(out, -1); found != nil {
		return found[len(found)-1][1]
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "FAIL") {
			return strings.TrimSpace(line)
		}
	}
	return "a run that failed"
}
