package main

import (
	"fmt"

	"go.temporal.io/sdk/client"

	"sluice/starter/internal/equivalent"
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
	fmt.Fprintln(a.stderr, shell.Line(command))
}

func startCommand(l launch, taskQueue string) []string {
	return equivalent.Start{Type: l.workflowType, ID: l.id, TaskQueue: taskQueue, Summary: l.options.StaticSummary, Input: l.input}.Command()
}
