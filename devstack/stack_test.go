package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// children are the processes whose parent is pid.
func children(t *testing.T, pid int) (list []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has ended
		}
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			require.NoError(t, err)
			list = append(list, child)
		}
	}
	return list
}

func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func TestChildrenDieWithAKilledStack(t *testing.T) {
	dir := t.TempDir()
	r, err := launch("--no-ui", "--state", dir)
	require.NoError(t, err)
	started := children(t, r.cmd.Process.Pid)
	require.Len(t, started, 5, "temporal, dynalite, kinesalite, azurite, kumo")

	require.NoError(t, r.cmd.Process.Kill())
	<-r.done
	eventually(t, func(context.Context) error {
		for _, pid := range started {
			if alive(pid) {
				return fmt.Errorf("process %d is alive", pid)
			}
		}
		return nil
	})
	require.FileExists(t, filepath.Join(dir, "env"), "nobody was left to remove it")

	// Nothing that it left stands in the way of the next.
	again, err := launch("--no-ui", "--state", dir)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	require.NoError(t, err)
	require.Contains(t, string(text), again.ready.Env["TEMPORAL_ADDRESS"])
	again.stop()
	require.NoFileExists(t, filepath.Join(dir, "env"))
}

func TestStacksSideBySide(t *testing.T) {
	first := connect(t)
	dir := t.TempDir()
	second := connectTo(t, start(t, "--state", dir).ready.Env)
	for _, name := range []string{"TEMPORAL_ADDRESS", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "SLUICE_GUARD_ADMIN"} {
		require.NotEqual(t, first.env[name], second.env[name])
	}
	table := first.table(t, nil, nil)
	_, err := second.put(t, table, item{"id": text("1")})
	require.Error(t, err, "it is in the other one")

	out, err := program("up", "--state", dir).CombinedOutput()
	require.Error(t, err, "one stack a state directory")
	require.Contains(t, string(out), "in use by process")
}

func TestDetachedStack(t *testing.T) {
	dir := t.TempDir()
	out, err := program("up", "--detach", "--no-ui", "--no-demo", "--state", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	stopped := false
	stop := func() ([]byte, error) { stopped = true; return program("down", "--state", dir).CombinedOutput() }
	t.Cleanup(func() {
		if !stopped {
			_, _ = stop()
		}
	})

	// A shell can source the file, and whoever does finds the stack.
	shell := exec.Command("sh", "-c", `. "$0"/env && printf %s "$AZURE_STORAGE_CONNECTION_STRING|$TEMPORAL_ADDRESS"`, dir)
	sourced, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", sourced)
	connection, address, _ := strings.Cut(string(sourced), "|")
	require.Contains(t, connection, "AccountName=sluice;")
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	out, err = stop()
	require.NoError(t, err, "%s", out)
	out, err = program("down", "--state", dir).CombinedOutput()
	require.NoError(t, err, "again is no error")
	require.Contains(t, string(out), "nothing runs here")
}

func TestFailureNamesThePart(t *testing.T) {
	script := filepath.Join(t.TempDir(), "temporal")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho the disk is full >&2\nexit 7\n"), 0o755))
	cmd := program("up", "--no-ui", "--state", t.TempDir(), "--temporal", script)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "temporal: exit status 7; its last lines:\n  the disk is full")

	cmd = program("up", "--state", t.TempDir(), "--modules", "/nonexistent")
	out, err = cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "npm ci")
}

func TestPartThatEndsEndsTheStack(t *testing.T) {
	r := start(t, "--state", t.TempDir())
	victim := 0
	for _, pid := range children(t, r.cmd.Process.Pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		require.NoError(t, err)
		if strings.Contains(string(text), "\x00dynalite\x00") {
			victim = pid
		}
	}
	require.NotZero(t, victim)
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	<-r.done
	require.Contains(t, r.errs.String(), "dynalite: signal: killed")
	require.NotZero(t, r.cmd.ProcessState.ExitCode())
}

func TestDataOutlivesTheStackAndTheServer(t *testing.T) {
	data, state := t.TempDir(), t.TempDir()
	up := func() *running { return start(t, "--state", state, "--data", data) }
	temporal := func(r *running, args ...string) string {
		cmd := exec.Command(r.ready.Env["TEMPORAL_CLI"], append(args, "--address", r.ready.Env["TEMPORAL_ADDRESS"])...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	r := up()
	temporal(r, "workflow", "start", "--type", "Nobody", "--task-queue", "none", "--workflow-id", "kept")
	c := connectTo(t, r.ready.Env)
	table := c.table(t, nil, nil)
	_, err := c.put(t, table, item{"id": text("1")})
	require.NoError(t, err)

	// The server alone, killed, comes back under the same address.
	response, err := http.Post(r.ready.Env["SLUICE_GUARD_ADMIN"]+"/temporal/restart", "", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNoContent, response.StatusCode)
	require.Contains(t, temporal(r, "workflow", "describe", "--workflow-id", "kept"), "Nobody")

	// All of it, killed, comes back with what it had and where it was.
	require.NoError(t, r.cmd.Process.Kill())
	<-r.done
	again := up()
	require.Equal(t, r.ready.Env["AWS_ENDPOINT_URL_SQS"], again.ready.Env["AWS_ENDPOINT_URL_SQS"])
	require.Contains(t, temporal(again, "workflow", "describe", "--workflow-id", "kept"), "Nobody")
	_, err = connectTo(t, again.ready.Env).put(t, table, item{"id": text("2")})
	require.NoError(t, err)
}

func TestHelpNamesEveryCommand(t *testing.T) {
	out, err := program("--help").CombinedOutput()
	require.NoError(t, err)
	for _, command := range []string{"up", "demo", "down", "delivery", "resources", "seed"} {
		require.Contains(t, string(out), command)
	}
	require.NotContains(t, string(out), "kumo")
}
