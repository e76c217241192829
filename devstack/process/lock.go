package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A Lock says that one process uses a directory. The kernel drops it with the
// process, so one that was killed leaves nothing stale.
type Lock struct{ file *os.File }

// ErrLocked is answered while another process holds the lock.
var ErrLocked = errors.New("in use")

// Acquire takes the lock of a directory, which it makes if it isn't there.
func Acquire(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(lockPath(dir), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := readPid(file)
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w by process %d", dir, ErrLocked, holder)
	}
	if err := writePid(file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return &Lock{file}, nil
}

// Release gives the lock up.
func (l *Lock) Release() { _ = l.file.Close() }

// Holder is the process that holds a directory's lock, 0 if none does.
func Holder(dir string) (int, error) {
	file, err := os.Open(lockPath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return 0, nil
	}
	return readPid(file), nil
}

func lockPath(dir string) string { return filepath.Join(dir, "lock") }

func readPid(file *os.File) int {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return pid
}

func writePid(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
