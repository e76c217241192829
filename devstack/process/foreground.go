package process

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Foreground runs a child to its end with the given streams. A child that
// outlives ctx is asked to end, then killed.
func Foreground(ctx context.Context, spec Spec, stdout, stderr io.Writer) error {
	runtime.LockOSThread() // the child dies with the thread that made it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, spec.Path, spec.Args...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Dir = spec.Dir
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd.Run()
}
