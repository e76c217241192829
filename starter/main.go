// Command starter starts Sluice's workflows and talks to them. Each command
// group has a file of its own; what they share is in app.go (the program),
// input.go (documents), run.go (starting and waiting), message.go (updates,
// queries) and printcli.go (the same by the temporal command).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"sluice"
	"sluice/internal/connect"
	"sluice/starter/internal/help"
)

// cli is the command line. A group is a struct in the file of its name.
type cli struct {
	connect.Config `group:"global"`
	Budgets        connect.ThroughputConfig `embed:"" prefix:"throughput-" group:"global"`
	UIAddress      string                   `group:"global" help:"Address of Temporal's Web UI, for links." env:"SLUICE_UI_ADDRESS" default:"http://localhost:8233"`
	PrintCLI       bool                     `group:"global" name:"print-cli" help:"Show on standard error the temporal command that does the same."`
	DryRun         bool                     `group:"global" name:"dry-run" help:"Check, show the temporal command that does the same, and do no more."`

	Version kong.VersionFlag `group:"global" help:"Print the version."`

	Doctor      doctorCmd      `cmd:"" help:"Look at Temporal, workers, credentials and what a workflow names; list what is in trouble."`
	Setup       setupCmd       `cmd:"" help:"Register the search attributes; safe to repeat."`
	Quiescence  quiescenceCmd  `cmd:"" help:"Watch until nothing new comes, then act."`
	Count       countCmd       `cmd:"" help:"Count the objects that S3 announces."`
	Claim       claimCmd       `cmd:"" help:"Claim tasks from Azure queues and run them."`
	Ingest      ingestCmd      `cmd:"" help:"The main job: objects to Kinesis, counted and compared."`
	Request     requestCmd     `cmd:"" help:"Requests: chains of jobs that can be suspended and resumed."`
	Resumer     resumerCmd     `cmd:"" help:"Resume suspended requests, once or every so often."`
	Dynamodb    dynamodbCmd    `cmd:"" help:"Run one DynamoDB operation within its table's budget."`
	Kinesis     kinesisCmd     `cmd:"" help:"Put records, or those of an object, to a stream."`
	Producer    producerCmd    `cmd:"" help:"The durable buffer in front of a stream."`
	Throughput  throughputCmd  `cmd:"" help:"Budgets of tables and indexes: see, set, pause."`
	Schema      schemaCmd      `cmd:"" help:"Print the JSON Schema of a document."`
	History     historyCmd     `cmd:"" help:"Export histories for replay tests."`
	CodecServer codecServerCmd `cmd:"" help:"Serve the decoding of encrypted payloads to the Web UI."`
	Completion  completionCmd  `cmd:"" help:"Print a shell's completion of this command line."`
}

// completionCmd prints a script for a shell, which asks for the words.
type completionCmd struct {
	Shell string   `arg:"" help:"bash, zsh or fish."`
	Words []string `arg:"" optional:"" passthrough:"" help:"The words before the one to complete, where the shell is \"words\"."`
}

func (c completionCmd) Run(a *app, parsed *kong.Context) error {
	if c.Shell == "words" {
		_, err := fmt.Fprintln(a.stdout, strings.Join(help.Words(parsed.Model, c.Words), "\n"))
		return err
	}
	script, err := help.Script(c.Shell)
	if err != nil {
		return usage("%v", err)
	}
	_, err = fmt.Fprint(a.stdout, script)
	return err
}

// options are how the command line is read.
func options() []kong.Option {
	return []kong.Option{
		kong.Name("starter"),
		kong.Description("Starts Sluice's workflows and talks to them. The result is JSON on standard output; all else goes to standard error. Exit status: 0 done, 1 failed, 2 usage, 3 still alive."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Help(help.Printer),
		kong.ExplicitGroups([]kong.Group{{Key: "global", Title: "Flags of every command:"}}),
		kong.Vars{"version": sluice.Version()},
	}
}

func main() {
	var c cli
	parser := kong.Must(&c, append(options(), kong.Exit(func(code int) {
		if code != 0 {
			code = exitUsage
		}
		os.Exit(code)
	}))...)
	parsed, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	a := newApp(ctx, c, os.Stdin, os.Stdout, os.Stderr)
	err = parsed.Run(a)
	a.close()
	if c.PrintCLI && !a.shown {
		a.note("no temporal command does the same")
	}
	os.Exit(a.report(err))
}

// Exit statuses.
const (
	exitDone   = 0
	exitFailed = 1 // FAIL, STOPPED, Expired, not found, missing records
	exitUsage  = 2
	exitAlive  = 3 // status: the workflow has not ended
)

// exit is an error that stands for an exit status and, where message is not
// empty, a line on standard error.
type exit struct {
	status  int
	message string
}

func (e exit) Error() string { return e.message }

// usage is the error for a command line that can't be carried out.
func usage(format string, args ...any) error {
	return exit{exitUsage, fmt.Sprintf(format, args...)}
}

// failed is the error for a command that was carried out and did not succeed.
func failed(format string, args ...any) error {
	return exit{exitFailed, fmt.Sprintf(format, args...)}
}

// alive ends a status command on a workflow that has not ended.
func alive() error { return exit{exitAlive, ""} }

// report writes err for the person and returns the exit status.
func (a *app) report(err error) int {
	var e exit
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &e):
	default:
		e = exit{exitFailed, describe(err)}
	}
	if e.message != "" {
		fmt.Fprintln(a.stderr, "starter:", e.message)
	}
	return e.status
}
