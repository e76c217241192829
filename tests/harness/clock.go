package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// StartWorkerAt is StartWorker of a worker whose clock is off by so much, in whole
// seconds. Its time goes as fast as everybody's.
func (s *Stack) StartWorkerAt(off time.Duration, env ...string) *Worker {
	s.t.Helper()
	path, err := offWorker()
	if err != nil {
		s.t.Fatal(err)
	}
	return s.StartWorkerOf(path, append(env, clockVariable+"="+strconv.Itoa(int(off/time.Second)))...)
}

const clockVariable = "SLUICE_TEST_CLOCK_OFF"

// offWorker builds a worker whose package time adds what a variable says. That is the
// compiler's doing: no program of Sluice has a seam for it. The first build compiles
// all over again, two minutes on two cores.
var offWorker = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed, err := offClock(string(source))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(Root(), ".bin", "clock")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file, overlay, path := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "worker")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	if err != nil {
		return "", err
	}
	return path, errors.Join(os.WriteFile(file, []byte(changed), 0o600), os.WriteFile(overlay, list, 0o600),
		locked(func() error { return run("go", "build", "-overlay", overlay, "-o", path, "./worker") }))
})

// offClock is the source of package time with another Now.
func offClock(source string) (string, error) {
	const now, read = "func Now() Time {\n", "sec, nsec, mono := runtimeNow()\n"
	before, after, found := strings.Cut(source, now)
	head, rest, foundRead := strings.Cut(after, read)
	if !found || !foundRead || !strings.Contains(source, "import (\n") {
		return "", fmt.Errorf("time.Now is written in another way than this knows: %.200s", after)
	}
	source = before + now + head + read + "\tsec += clockOff\n" + rest + `
var clockOff = readClockOff()

func readClockOff() int64 {
	text, _ := syscall.Getenv("` + clockVariable + `")
	off, _ := atoi(text)
	return int64(off)
}
`
	return strings.Replace(source, "import (\n", "import (\n\t\"syscall\"\n", 1), nil
}

// Asleep has a stack of the test's own, with the processes that are named, stand still
// for so long, as on a machine that sleeps.
func (s *Stack) Asleep(d time.Duration, others ...*Process) {
	s.t.Helper()
	all := family(s.t, s.run.process.Pid())
	for _, p := range others {
		all = append(all, p.Pid())
	}
	send := func(signal syscall.Signal) {
		for _, pid := range all {
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				s.t.Errorf("%d: %v", pid, err)
			}
		}
	}
	send(syscall.SIGSTOP)
	defer send(syscall.SIGCONT)
	select {
	case <-time.After(d):
	case <-s.t.Context().Done():
	}
}

// family is a process with all that it has started.
func family(t testing.TB, pid int) []int {
	t.Helper()
	all := []int{pid}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // a thread may have ended
		for _, child := range strings.Fields(string(children)) {
			if id, err := strconv.Atoi(child); err == nil {
				all = append(all, family(t, id)...)
			}
		}
	}
	return all
}
