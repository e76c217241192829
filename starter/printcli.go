package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.temporal.io/sdk/client"

	"sluice/starter/internal/shell"
)

// same is the client for what this temporal command does as well, which is shown
// when asked. A dry run ends here.
func (a *app) same(command []string) (client.Client, error) {
	a.printCLI(command)
	if a.cli.DryRun {
		return nil, exit{exitDone, ""}
	}
	return a.temporal()
}

// noEquivalent refuses a dry run of what no temporal command does.
func (a *app) noEquivalent() error {
	if a.cli.DryRun {
		return usage("--dry-run: no temporal command does the same")
	}
	return nil
}

// printCLI shows the temporal command that does the same, when asked.
func (a *app) printCLI(command []string) {
	a.shown = true
	if !a.cli.PrintCLI && !a.cli.DryRun {
		return
	}
	quoted := make([]string, len(command))
	for i, word := range command {
		quoted[i] = shell.Quote(word)
	}
	fmt.Fprintln(a.stderr, strings.Join(quoted, " "))
}

func startCommand(l launch, taskQueue string) []string {
	command := []string{"temporal", "workflow", "start", "--type", l.workflowType, "--task-queue", taskQueue, "--workflow-id", l.id}
	if l.options.StaticSummary != "" {
		command = append(command, "--static-summary", l.options.StaticSummary)
	}
	return withInput(command, l.input)
}

func updateCommand(workflowID, name string, input json.RawMessage) []string {
	return withInput([]string{"temporal", "workflow", "update", "execute", "--workflow-id", workflowID, "--name", name}, input)
}

func signalCommand(workflowID, name string, input json.RawMessage) []string {
	return withInput([]string{"temporal", "workflow", "signal", "--workflow-id", workflowID, "--name", name}, input)
}

func queryCommand(workflowID, name string, args []any) []string {
	command := []string{"temporal", "workflow", "query", "--workflow-id", workflowID, "--type", name}
	for _, arg := range args {
		if raw, err := json.Marshal(arg); err == nil {
			command = withInput(command, raw)
		}
	}
	return command
}

func withInput(command []string, input json.RawMessage) []string {
	if len(input) == 0 {
		return command
	}
	return append(command, "--input", string(input))
}
