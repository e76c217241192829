package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Root is the top of the clone.
var Root = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
})

var (
	buildMu sync.Mutex
	built   = map[string]string{}
)

// Binary builds ./worker, ./starter or another main package of the module once a
// test process and answers the program's path.
func Binary(name string) (string, error) {
	buildMu.Lock()
	defer buildMu.Unlock()
	if path := built[name]; path != "" {
		return path, nil
	}
	args := []string{"build"}
	path := filepath.Join(Root(), ".bin", name)
	if os.Getenv("SLUICE_RACE") == "1" {
		args, path = append(args, "-race"), path+"-race"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	args = append(args, "-o", path, "./"+name)
	if err := locked(func() error { return run("go", args...) }); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	built[name] = path
	return path, nil
}

// devstackBinary answers the built devstack program, with all that it needs.
func devstackBinary() (string, error) {
	if path := os.Getenv("SLUICE_DEVSTACK"); path != "" {
		return path, nil
	}
	path := filepath.Join(Root(), ".bin", "devstack")
	return path, locked(func() error { return run("make", "-s", "tools") })
}

// Make has a target of the Makefile made, as by somebody at the top of the clone.
func Make(t testing.TB, target string) {
	t.Helper()
	if err := locked(func() error { return run("make", "-s", target) }); err != nil {
		t.Fatal(err)
	}
}

// locked keeps test processes of the same clone from building the same at once.
func locked(build func() error) error {
	dir := filepath.Join(Root(), ".bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return build()
}

func run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = Root()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
