// Package process runs the stack's children: each in a process group of its own,
// its output in a log file, and dead as soon as its parent is.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	Name string   // for messages
	Path string   // the program
	Args []string // without the program
	Env  []string // added to the caller's environment
	Dir  string   // "" is the caller's
	Log  string   // file that takes standard output and error
}

// A Process is a running child.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
	err  error // of Wait; read after done
}

// Start runs a child. It dies with this process, however this process ends: the
// kernel kills it when the thread that made it is gone, so that thread belongs
// to the child until it has ended.
func Start(spec Spec) (*Process, error) {
	out, err := newOutput(spec.Log)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Dir = spec.Dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes()
	cmd.WaitDelay = 2 * time.Second

	p := &Process{spec: spec, cmd: cmd, out: out, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			out.close()
			started <- err
			return
		}
		started <- nil
		p.err = cmd.Wait()
		out.close()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	return p, nil
}

// Pid is the child's process ID.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Name is the child's name in messages.
func (p *Process) Name() string { return p.spec.Name }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Failed tells why a child ended that was to run on: its name, its status and
// the last lines that it printed.
func (p *Process) Failed() error {
	<-p.done
	status := "exit status 0"
	if p.err != nil {
		status = p.err.Error()
	}
	return p.explain(status)
}

// AwaitLine waits for an output line that matches and answers its first group.
func (p *Process) AwaitLine(ctx context.Context, pattern *regexp.Regexp) (string, error) {
	for {
		changed := p.out.changed()
		if found := pattern.FindStringSubmatch(p.out.text()); found != nil {
			return found[1], nil
		}
		if err := p.pause(ctx, changed, time.Minute); err != nil {
			return "", err
		}
	}
}

// Await polls ready every 50 ms until it answers nil, the child ends or ctx does.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		if err := p.pause(ctx, nil, 50*time.Millisecond); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("%w\n(%w)", err, last)
			}
			return err
		}
	}
}

// pause waits for news, at most so long, and fails when there can't be any more.
func (p *Process) pause(ctx context.Context, changed <-chan struct{}, atMost time.Duration) error {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.Failed()
	case <-ctx.Done():
		return p.explain("not ready: " + context.Cause(ctx).Error())
	case <-changed:
	case <-timer.C:
	}
	return nil
}

func (p *Process) explain(what string) error {
	tail := p.out.tail(12)
	if len(tail) == 0 {
		tail = []string{"(no output)"}
	}
	return fmt.Errorf("%s: %s; its last lines:\n  %s", p.spec.Name, what, strings.Join(tail, "\n  "))
}

// Stop asks the child's group to end, kills it after the grace, and returns when
// it has ended.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return
	case <-timer.C:
	}
	p.signal(syscall.SIGKILL)
	<-p.done
}

// Kill ends the child's group without asking.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal reaches the whole group, so that nothing the child started stays.
func (p *Process) signal(s syscall.Signal) {
	err := syscall.Kill(-p.Pid(), s)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		_ = p.cmd.Process.Signal(s)
	}
}
