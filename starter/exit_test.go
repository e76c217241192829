package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"sluice/starter/internal/help"
	"sluice/workflows"
)

// call runs the program on arguments that it never needs a server for.
func call(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	var c cli
	parser, err := kong.New(&c, options()...)
	require.NoError(t, err)
	parsed, err := parser.Parse(args)
	require.NoError(t, err)
	var out, errs bytes.Buffer
	a := newApp(context.Background(), c, strings.NewReader(stdin), &out, &errs)
	err = parsed.Run(a)
	require.Nil(t, a.connected)
	status = a.report(err)
	return status, out.String(), errs.String()
}

func TestARunIsRefusedBeforeItIsStarted(t *testing.T) {
	for name, c := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"a request of unknown fields":      {`{"jobs":[{"id":"a","activity":"x","colour":1}]}`, []string{"request", "run", "-f", "-"}, "jobs[0].colour: unknown field"},
		"a request without jobs":           {`{}`, []string{"request", "run", "-f", "-"}, "jobs: required"},
		"a watch without a source":         {"", []string{"quiescence", "run", "--repeats", "3"}, "source: required"},
		"a watch that nothing can end":     {"", []string{"quiescence", "run", "--bucket", "b", "--repeats=-1"}, "repeats:"},
		"a counter by neither":             {"", []string{"count", "run", "--queue-url", "http://q/1", "--table", "t", "--key", "object"}, "key:"},
		"a counter without a table":        {"", []string{"count", "run", "--queue-url", "http://q/1"}, "table: required"},
		"a claimer of no Azure queue":      {"", []string{"claim", "run", "--queue", "Demo_Tasks"}, "queues[0].name:"},
		"a claimer of too much":            {"", []string{"claim", "run", "--queue", "tasks", "--capacity", "1001"}, "capacity: 1001"},
		"an ingestion of an unknown form":  {"", []string{"ingest", "run", "--bucket", "b", "--format", "xml"}, "format:"},
		"a buffer of no stream's name":     {"", []string{"producer", "run", "a/b"}, "stream:"},
		"a buffer that never sends":        {`{"stream":"s","flushInterval":"1ms"}`, []string{"producer", "run", "-f", "-"}, "flushInterval:"},
		"a sweep of none at once":          {"", []string{"resumer", "once", "--max-parallel=-1"}, "maxParallel:"},
		"a schedule of sweeps of a moment": {"", []string{"resumer", "start", "--lease", "0s"}, "lease:"},
		"one call with an unknown retry":   {"", []string{"dynamodb", "get-item", "--cli-input-json", "{}", "--retry=-1"}, "retry:"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := call(t, c.stdin, c.args...)
			require.Equal(t, exitUsage, status, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, "InvalidInput: ")
			require.Contains(t, stderr, c.want)
		})
	}
}

func TestWhatIsStartedIsChecked(t *testing.T) {
	for _, workflowType := range []string{workflows.TypeRequest, workflows.TypeResumeSuspended, workflows.TypeProducer,
		workflows.TypeQuiescence, workflows.TypeCountObjects, workflows.TypeClaimTasks, workflows.TypeIngest} {
		err := checkInput(workflowType, "id", json.RawMessage(`{"colour":"red"}`))
		var refused exit
		require.ErrorAs(t, err, &refused, workflowType)
		require.Equal(t, exitUsage, refused.status)
		require.Contains(t, refused.message, "colour: unknown field", workflowType)
	}
}

func TestEveryCommandHasAnExampleThatIsRead(t *testing.T) {
	parser, err := kong.New(&cli{}, options()...)
	require.NoError(t, err)
	leaves := 0
	for _, leaf := range parser.Model.Leaves(false) {
		node := leaf
		for node.Type != kong.CommandNode {
			node = node.Parent
		}
		path := help.Path(node)
		example := help.Example(path)
		require.NotEmpty(t, example, path)
		words, err := shellWords(example)
		require.NoError(t, err)
		var c cli
		again, err := kong.New(&c, options()...)
		require.NoError(t, err)
		read, err := again.Parse(words)
		require.NoError(t, err, example)
		require.Equal(t, path, help.Path(read.Selected()), example)
		leaves++
	}
	require.Greater(t, leaves, 50)
}

// shellWords splits an example as a shell does, up to where output goes.
func shellWords(line string) (words []string, err error) {
	word, quoted, begun := "", false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, begun = !quoted, true
		case r == '>' && !quoted:
			return words, nil
		case r == ' ' && !quoted:
			if begun {
				words = append(words, word)
			}
			word, begun = "", false
		default:
			word, begun = word+string(r), true
		}
	}
	if quoted {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		words = append(words, word)
	}
	return words, nil
}

func TestADryRunShowsTheCommandAndDoesNoMore(t *testing.T) {
	for name, c := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"a start":       {`{"jobs":[{"id":"a","activity":"x"}]}`, []string{"request", "run", "--id", "r", "-f", "-", "--wait"}, "temporal workflow start --type Request --task-queue sluice --workflow-id r"},
		"an update":     {"", []string{"quiescence", "stop", "q"}, "temporal workflow update execute --workflow-id q --name stop"},
		"a query":       {"", []string{"claim", "status", "tasks"}, "temporal workflow query --workflow-id claim/tasks --type status"},
		"a signal":      {"", []string{"request", "stop", "--query", "SluiceType='x'"}, "temporal workflow signal --query"},
		"a list":        {"", []string{"request", "list"}, "temporal workflow list --query"},
		"a history":     {"", []string{"history", "export", "r"}, "temporal workflow show --workflow-id r"},
		"a schedule":    {"", []string{"resumer", "start"}, "temporal schedule create --schedule-id sluice-resumer"},
		"a budget":      {"", []string{"throughput", "set", "dynamodb/eu-west-1/orders/read", "--units-per-second", "5"}, "temporal workflow execute-update-with-start"},
		"one operation": {"", []string{"dynamodb", "get-item", "--cli-input-json", "{}"}, "temporal workflow start --type Request"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := call(t, c.stdin, append([]string{"--dry-run"}, c.args...)...)
			require.Equal(t, exitDone, status, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, c.want)
		})
	}
	for _, args := range [][]string{{"setup"}, {"doctor"}, {"claim", "enqueue", "tasks", "--task-id", "a"}, {"claim", "poison", "drop", "tasks-poison", "--all"}} {
		status, _, stderr := call(t, "", append([]string{"--dry-run"}, args...)...)
		require.Equal(t, exitUsage, status, "%v: %s", args, stderr)
		require.Contains(t, stderr, "no temporal command does the same")
	}
}

func TestCompletionNamesWhatMayComeNext(t *testing.T) {
	_, stdout, _ := call(t, "", "completion", "words", "request")
	require.Contains(t, strings.Fields(stdout), "validate")
	_, stdout, _ = call(t, "", "completion", "words", "request", "suspend")
	words := strings.Fields(stdout)
	require.Less(t, slices.Index(words, "--ttl"), slices.Index(words, "--task-queue"), "its own flags come first")
	for _, shell := range help.Shells {
		status, stdout, _ := call(t, "", "completion", shell)
		require.Equal(t, exitDone, status)
		require.Contains(t, stdout, "starter completion words")
	}
	status, _, _ := call(t, "", "completion", "csh")
	require.Equal(t, exitUsage, status)
}

func TestASchemaIsPrinted(t *testing.T) {
	status, stdout, _ := call(t, "", "schema", "request")
	require.Equal(t, exitDone, status)
	require.Contains(t, stdout, "https://json-schema.org/draft/2020-12/schema")
	status, stdout, _ = call(t, "", "schema")
	require.Equal(t, exitDone, status)
	require.Contains(t, stdout, `"quiescence.tune"`)
	status, _, stderr := call(t, "", "schema", "colour")
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, "claim.capacity")
}

func TestRecordsThatAreNotStoredAreAFailure(t *testing.T) {
	require.NoError(t, judgeRecords(json.RawMessage(`{"RecordCount":2,"StoredRecordCount":2,"Failed":[]}`)))
	require.NoError(t, judgeRecords(json.RawMessage(`{"Item":{"id":{"S":"1"}}}`)))
	for output, want := range map[string]string{
		`{"RecordCount":1,"FailedRecordCount":1,"Failed":[{"Index":0,"ErrorCode":"AccessDenied","ErrorMessage":"no"}]}`: "1 of 1 record failed; record 0: AccessDenied: no",
		`{"RecordCount":9,"StoredRecordCount":7,"FailedRecordCount":2}`:                                                 "2 of 9 records failed",
	} {
		var told exit
		require.ErrorAs(t, judgeRecords(json.RawMessage(output)), &told)
		require.Equal(t, exit{exitFailed, want}, told)
	}
}

func TestTasksThatDidNotCompleteAreAFailure(t *testing.T) {
	require.NoError(t, judgeTasks(json.RawMessage(`{"claimed":3,"finished":3}`)))
	require.EqualError(t, judgeTasks(json.RawMessage(`{"claimed":3,"finished":3,"failed":1}`)), "1 of 3 tasks did not complete")
}
