package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"sluice/tests/harness"
)

// demo is the Actions of `make demo`, from nothing to its end.
func demo(ctx context.Context) (actions, error) {
	dir, err := os.MkdirTemp("", "sluice-cost-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, filepath.Join(harness.Root(), ".bin", "devstack"), "demo", "--keep", "--no-ui", "--state", dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	progress, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = cmd.Process.Signal(syscall.SIGINT); _ = cmd.Wait() }()
	var said []string
	lines := bufio.NewScanner(progress)
	for lines.Scan() {
		said = append(said, lines.Text())
		if !strings.Contains(lines.Text(), "stays up until Ctrl-C") {
			continue
		}
		go func() { // it must not wait for a reader
			for lines.Scan() {
			}
		}()
		url, err := metricsOf(filepath.Join(dir, "demo", "env"))
		if err != nil {
			return nil, err
		}
		counted, err := server{url}.read(ctx)
		return counted["default"], err
	}
	return nil, errors.New("the demo did not come to its end:\n" + strings.Join(said[max(0, len(said)-20):], "\n"))
}

// metricsOf reads where a stack's Temporal tells its metrics.
func metricsOf(envFile string) (string, error) {
	text, err := os.ReadFile(envFile)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if url, ok := strings.CutPrefix(strings.TrimSpace(line), "export SLUICE_TEMPORAL_METRICS="); ok {
			return url, nil
		}
	}
	return "", fmt.Errorf("%s names no metrics", envFile)
}
