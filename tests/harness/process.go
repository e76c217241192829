package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Process is a child of the test, in a process group of its own. It dies with
// the test process.
type Process struct {
	Name string
	cmd  *exec.Cmd
	logs buffer
	done chan struct{}
	err  error // of Wait; read after done
}

// startProcess runs a program; out, if not nil, gets its standard output, all
// else goes to its logs.
func startProcess(name, path string, args, env []string, dir string, out *buffer) (*Process, error) {
	p := &Process{Name: name, done: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Env, p.cmd.Dir = env, dir
	p.cmd.Stdout, p.cmd.Stderr = &p.logs, &p.logs
	if out != nil {
		p.cmd.Stdout = out
	}
	p.cmd.SysProcAttr = childAttributes()
	p.cmd.WaitDelay = 2 * time.Second
	started := make(chan error, 1)
	go func() {
		// The kernel ends the child with the thread that made it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

// Pid is the process ID.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running tells whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Signal sends a signal to the process alone.
func (p *Process) Signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill sends SIGKILL to the group and waits for the end.
func (p *Process) Kill() {
	_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
	<-p.done
}

// Stop sends SIGTERM and answers the exit code (-1: a signal ended it). After a
// minute the process is killed and the test fails.
func (p *Process) Stop(t testing.TB) int {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	return p.Wait(t, time.Minute)
}

// Wait answers the exit code once the process has ended.
func (p *Process) Wait(t testing.TB, atMost time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(atMost):
		p.Kill()
		t.Errorf("%s did not end within %s; its logs:\n%s", p.Name, atMost, p.Logs())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Logs is what the process has printed so far.
func (p *Process) Logs() string { return p.logs.String() }

// AwaitLog waits until the logs contain a text.
func (p *Process) AwaitLog(t testing.TB, text string) {
	t.Helper()
	Await(t, p.Name+" logs "+text, func(context.Context) error {
		switch {
		case strings.Contains(p.Logs(), text):
			return nil
		case !p.Running():
			return Never(errors.New("ended:\n" + p.Logs()))
		}
		return errors.New("not logged")
	})
}

// buffer may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
