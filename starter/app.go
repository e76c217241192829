package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"sluice"
	"sluice/internal/connect"
	"sluice/internal/document"
	"sluice/internal/limits"
	"sluice/starter/internal/table"
)

// app is one call of the program: its streams, its settings, and the client,
// which is made when a command first needs it.
type app struct {
	ctx            context.Context //nolint:containedctx // an app is one call of the program
	cli            cli
	stdin          io.Reader
	stdout, stderr io.Writer

	connected client.Client
	shown     bool // the temporal command that does the same, to whom asked for it
	namespace string
}

func newApp(ctx context.Context, c cli, stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{ctx: ctx, cli: c, stdin: stdin, stdout: stdout, stderr: stderr}
}

// temporal returns the client.
func (a *app) temporal() (client.Client, error) {
	if a.connected != nil {
		return a.connected, nil
	}
	if err := a.noEquivalent(); err != nil {
		return nil, err
	}
	var queue document.Faults
	limits.CheckTaskQueue(&queue, "--task-queue", a.cli.TaskQueue)
	if err := queue.Err(); err != nil {
		return nil, usage("%v", err)
	}
	quiet := a.cli.Config
	quiet.LogLevel = "warn" // the SDK's start-up lines are nothing for a person
	logger, err := connect.Logger(quiet, a.stderr)
	if err != nil {
		return nil, err
	}
	awsConfig, err := sluice.AWS(a.ctx)
	if err != nil {
		return nil, err
	}
	options, err := sluice.ClientOptions(a.cli.Config, sluice.S3(awsConfig), logger)
	if err != nil {
		return nil, err
	}
	if a.namespace = options.Namespace; a.namespace == "" {
		a.namespace = client.DefaultNamespace
	}
	if a.connected, err = sluice.Dial(a.ctx, options); err != nil {
		return nil, failed("%s%s; is it there? TEMPORAL_ADDRESS and TEMPORAL_PROFILE say where it is, and `make up` starts one here", describe(err), a.unknownHost(options.HostPort))
	}
	return a.connected, nil
}

// unknownHost says that an address's host has no such name, which the connection's
// own error does not.
func (a *app) unknownHost(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	if _, err = net.DefaultResolver.LookupHost(a.ctx, host); err != nil {
		return ": " + err.Error()
	}
	return ""
}

func (a *app) close() {
	if a.connected != nil {
		a.connected.Close()
	}
}

// result writes the command's result, the only thing on standard output.
func (a *app) result(v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, string(raw))
	return err
}

// tableFlag is shared by the commands whose result people read.
type tableFlag struct {
	Output string `short:"o" help:"json, or table to read." enum:"json,table" default:"json"`
}

// rows is result for what may be wanted as a table.
func (a *app) rows(f tableFlag, document any) error {
	if f.Output != "table" {
		return a.result(document)
	}
	raw, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return table.Write(a.stdout, raw)
}

// note writes a line for the person.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, format+"\n", args...)
}

// counted is a number of things: "1 fault", "2 faults".
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// link is the run's page in the Web UI.
func (a *app) link(workflowID, runID string) string {
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s/%s/history", strings.TrimRight(a.cli.UIAddress, "/"),
		url.PathEscape(a.namespace), url.PathEscape(workflowID), url.PathEscape(runID))
}

// attributePrefix is what the names of our search attributes begin with.
const attributePrefix = "Sluice"

// describe is what a person reads of an error: our type and message without the
// SDK's wrapping, and for the server's errors what to do.
func describe(err error) string {
	var application *temporal.ApplicationError
	var notFound *serviceerror.NotFound
	var namespace *serviceerror.NamespaceNotFound
	var argument *serviceerror.InvalidArgument
	var terminated *temporal.TerminatedError
	var canceled *temporal.CanceledError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &application):
		return application.Type() + ": " + application.Message()
	case errors.As(err, &namespace):
		return "no namespace " + namespace.Namespace + "; make it: temporal operator namespace create --namespace " + namespace.Namespace + ", then: starter setup"
	case errors.As(err, &notFound):
		return "not found: " + notFound.Message
	case errors.As(err, &argument) && strings.Contains(argument.Message, attributePrefix):
		return argument.Message + "; search attributes are registered by: starter setup"
	case errors.As(err, &terminated):
		return "the workflow was terminated"
	case errors.As(err, &canceled):
		return "the workflow was canceled"
	case errors.As(err, &timeout):
		return "timed out: " + timeout.Error()
	default:
		return err.Error()
	}
}
