package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"sluice/devstack/process"
	"sluice/devstack/stack"
)

type upCommand struct {
	stack.Config
	Detach bool `help:"Return when the stack is up and leave it running; end it with down."`
}

// ready is the line on standard output that says the stack is up.
type ready struct {
	Pid     int               `json:"pid"`
	EnvFile string            `json:"envFile"`
	Env     map[string]string `json:"env"`
}

func (c *upCommand) Run() error {
	if c.Detach {
		return c.detach()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s, err := stack.Start(ctx, c.Config, os.Stderr)
	if err != nil {
		return err
	}
	defer s.Stop()
	line, err := json.Marshal(ready{Pid: os.Getpid(), EnvFile: s.EnvFile(), Env: s.Env().Map()})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	select {
	case <-ctx.Done():
		stop() // a second signal ends it at once
		fmt.Fprintln(os.Stderr, "devstack: stopping")
		return nil
	case err := <-s.Ended():
		return err
	}
}

// detach runs this program again in a session of its own and waits for its line.
func (c *upCommand) detach() error {
	if pid, err := process.Holder(c.State); err != nil {
		return err
	} else if pid != 0 {
		return fmt.Errorf("already up as process %d; `. %s` to use it, `devstack down` to end it", pid, filepath.Join(c.State, "env"))
	}
	var args []string
	for _, arg := range os.Args[1:] {
		if arg != "--detach" {
			args = append(args, arg)
		}
	}
	if err := os.MkdirAll(filepath.Join(c.State, "logs"), 0o755); err != nil {
		return err
	}
	logPath := filepath.Join(c.State, "logs", "devstack.log")
	log, err := os.Create(logPath)
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return awaitDetached(c, ended, logPath)
}

func awaitDetached(c *upCommand, ended <-chan error, logPath string) error {
	env := filepath.Join(c.State, "env")
	for {
		select {
		case <-ended:
			text, _ := os.ReadFile(logPath)
			return fmt.Errorf("the stack did not start:\n%s", text)
		case <-time.After(50 * time.Millisecond):
		}
		if pid, err := process.Holder(c.State); err != nil || pid == 0 {
			continue
		}
		if _, err := os.Stat(env); err == nil {
			fmt.Fprintf(os.Stderr, "devstack: up; `. %s` to use it, logs in %s\n", env, filepath.Dir(logPath))
			return nil
		}
	}
}

type downCommand struct {
	State  string        `help:"The stack's state directory." default:".devstack" type:"path"`
	Within time.Duration `help:"Kill it after this time." default:"20s"`
}

func (c *downCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	pid, err := process.Holder(c.State)
	if err != nil {
		return err
	}
	if pid == 0 {
		fmt.Fprintln(os.Stderr, "devstack: nothing runs here")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	within, cancel := context.WithTimeout(ctx, c.Within)
	defer cancel()
	switch {
	case c.awaitGone(within):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted; process %d is still stopping", pid)
	default:
		// Its children die with it.
		return syscall.Kill(pid, syscall.SIGKILL)
	}
}

// awaitGone waits until nobody holds the state directory, or the context ends.
func (c *downCommand) awaitGone(ctx context.Context) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if pid, err := process.Holder(c.State); err == nil && pid == 0 {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}
