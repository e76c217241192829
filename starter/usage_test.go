package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"sluice/activities/claiming"
	"sluice/internal/duration"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
	"sluice/workflows/request"
)

// What contradicts itself is refused before anybody is asked, with what to give.
func TestFlagsThatContradictEachOtherAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"request run":                                    "give the document by either -f or --from",
		"request run -f a --from b":                      "give the document by either -f or --from",
		"request suspend":                                "give either the ID of a request or --query",
		"request suspend r --query x":                    "give either the ID of a request or --query",
		"quiescence run --table t":                       "--table needs --counter",
		"quiescence run --table t --bucket b":            "only one of --table, --bucket and --queue-url",
		"quiescence run --bucket b --queue-url u":        "only one of --table, --bucket and --queue-url",
		"count run --table t":                            "queueUrl: required",
		"claim run":                                      "give the claimer a name",
		"claim run a --id claim/b --queue q":             "give the claimer's name or --id, not both",
		"producer run":                                   "name the stream",
		"producer run a --id producer/b":                 "give the stream or --id, not both",
		"producer add s":                                 "give a document with -f, or --data and --partition-key",
		"producer add s -f x --data y":                   "give a document with -f, or --data and --partition-key",
		"throughput pause":                               "name one budget, or give --all",
		"throughput pause dynamodb/r/t/read --all":       "name one budget, or give --all",
		"throughput set dynamodb/r/t/read":               "nothing to set",
		"throughput status orders":                       "orders",
		"dynamodb drop-everything":                       `no operation "drop-everything"; there are get-item, query, scan`,
		"dynamodb get-item":                              "give the document by either --cli-input-json or -f",
		"dynamodb get-item --cli-input-json []":          "an object is expected",
		"dynamodb get-item --cli-input-json {":           "--cli-input-json: not valid JSON",
		"dynamodb get-item --cli-input-json file:///x/y": "no such file",
		"dynamodb get-item --until-active -f x":          "--until-active is for create-table and update-table",
		"claim enqueue q":                                "give -f FILE or --task-id",
		"claim enqueue q -f x --task-id a":               "give -f or --task-id, not both",
		"claim enqueue q --task-id a --payload {":        "--payload is not JSON",
		"claim enqueue Q_ --task-id a":                   "Q_",
		"claim poison drop tasks":                        "say which: --id or --all",
		"resumer start --every 10ms":                     "--every: 10ms; at least 1s",
		"codec-server":                                   "codec-server needs SLUICE_ENCRYPTION_KEY",
		"completion csh":                                 `no completion for "csh"; there is one for bash, zsh, fish`,
		"request run --id r -f /x/absent.json":           "no such file",
		"request validate -f /x/absent.json":             "no such file",
		"ingest run --bucket b --queue q --stream s --table t --deadline soon": "deadline",
	} {
		t.Run(args, func(t *testing.T) {
			status, stdout, stderr := call(t, "", strings.Fields(args)...)
			require.Equal(t, exitUsage, status, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, want)
		})
	}
}

// One thing has one name in every command: the workflow ID, and what it is made of
// where it has a fixed form.
func TestAWorkflowIsNamedByItsIDOrByWhatItIsMadeOf(t *testing.T) {
	for args, want := range map[string]string{
		"claim status tasks": "claim/tasks", "claim status claim/tasks": "claim/tasks", "claim stop claim/a/b": "claim/a/b",
		"producer status events": "producer/events", "producer stop producer/events": "producer/events",
		"count status landed": "count/landed", "count stop count/landed": "count/landed", "count drain https://sqs/1/landed": "count/landed",
		"count status own/id": "own/id", "request status r": "r", "quiescence status q": "q", "ingest status i": "i",
		"throughput status dynamodb/r/t/read":  "throughput/dynamodb/r/t/read",
		"claim run --id claim/a --queue tasks": "claim/a", "producer run --id producer/s": "producer/s",
		"count run --queue-url https://sqs/1/landed --table t": "count/landed", "count run --id other --queue-url https://sqs/1/landed --table t": "other",
	} {
		_, _, stderr := call(t, "", append([]string{"--dry-run"}, strings.Fields(args)...)...)
		require.Contains(t, stderr, "--workflow-id "+want+" ", args)
	}
}

// The exit status of everything that a command can end with.
func TestEveryEndHasItsExitStatus(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		told   string
	}{
		"done":           {nil, 0, ""},
		"usage":          {usage("--x: %d", 1), 2, "starter: --x: 1\n"},
		"failed":         {failed("no"), 1, "starter: no\n"},
		"still alive":    {alive(), 3, ""},
		"ended badly":    {exit{exitFailed, ""}, 1, ""},
		"a dry run":      {exit{exitDone, ""}, 0, ""},
		"wrapped":        {errors.Join(errors.New("x"), usage("y")), 2, "starter: y\n"},
		"unpolled":       {unpolled{failed("no worker")}, 1, "starter: no worker\n"},
		"of the server":  {serviceerror.NewNotFound("x"), 1, "starter: not found: x\n"},
		"of the machine": {os.ErrPermission, 1, "starter: permission denied\n"},
	} {
		a := testApp("")
		require.Equal(t, c.status, a.report(c.err), name)
		require.Equal(t, c.told, a.stderr.(*bytes.Buffer).String(), name)
	}
}

// The result is the only thing on standard output, as JSON or as a table.
func TestAResultIsJSONOrATable(t *testing.T) {
	list := []budgetLine{{"dynamodb/r/t/read", "throughput/dynamodb/r/t/read"}}
	a := testApp("")
	require.NoError(t, a.rows(tableFlag{"json"}, list))
	require.JSONEq(t, `[{"resource":"dynamodb/r/t/read","workflowId":"throughput/dynamodb/r/t/read"}]`, a.stdout.(*bytes.Buffer).String())
	a = testApp("")
	require.NoError(t, a.rows(tableFlag{"table"}, list))
	require.Equal(t, "RESOURCE           WORKFLOWID\ndynamodb/r/t/read  throughput/dynamodb/r/t/read\n", a.stdout.(*bytes.Buffer).String())
	require.Error(t, a.result(func() {}))

	a.note("%d of %s", 1, counted(2, "record"))
	require.Equal(t, "1 of 2 records\n", a.stderr.(*bytes.Buffer).String())
	a.cli.UIAddress, a.namespace = "http://ui/", "team a"
	require.Equal(t, "http://ui/namespaces/team%20a/workflows/request%2F1/run/history", a.link("request/1", "run"))
}

// What an interrupted command says depends on whether there is a status to look at.
func TestAnInterruptedWaitSaysHowToLook(t *testing.T) {
	a := testApp("")
	a.cli.UIAddress, a.namespace = "http://ui", "default"
	c, err := client.NewLazyClient(client.Options{})
	require.NoError(t, err)
	defer c.Close()
	for kind, want := range map[string]string{"Request": "look with: starter request status 'a b', or at http://ui/", "ResumeSuspended": "look with: http://ui/"} {
		var told exit
		require.ErrorAs(t, a.goesOn(begun{c.GetWorkflow(t.Context(), "a b", "run"), kind}), &told)
		require.Equal(t, exitAlive, told.status)
		require.Contains(t, told.message, want)
	}
}

func TestAListIsOfTheRequestsThatAreMeant(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for want, r := range map[string]requestListCmd{
		`WorkflowType = "Request"`: {},
		`WorkflowType = "Request" AND SluiceState IN ("RUNNING", "SUSPENDED", "FAIL")`:             {State: []string{"alive", "fail"}},
		`WorkflowType = "Request" AND SluiceType = "a\"b"`:                                         {Type: `a"b`},
		`WorkflowType = "Request" AND StartTime < "2026-11-30T11:00:00Z" AND (A = 'x' OR B = 'y')`: {OlderThan: duration.Duration(time.Hour), Query: "A = 'x' OR B = 'y'"},
	} {
		require.Equal(t, want, r.query(now))
	}
}

func TestOnlyJobsThatAreThereAreSkipped(t *testing.T) {
	document := json.RawMessage(`{"jobs":[{"id":"a","activity":"x"},{"id":"b","activity":"x"}],"finished":{"a":{"n":1}}}`)
	raw, err := skipJobs(document, nil)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"finished":{"a":{"n":1}}`)
	_, err = skipJobs(document, []string{"c"})
	require.EqualError(t, err, `--skip: no job "c"`)
	_, err = skipJobs(document, []string{"b"})
	require.EqualError(t, err, "nothing to run: all 2 jobs are complete")
	_, err = skipJobs(json.RawMessage(`{"jobs":1}`), nil)
	require.Error(t, err)
}

// Messages are checked as a claimer will, all of them before the first is sent.
func TestMessagesAreCheckedBeforeAnyIsSent(t *testing.T) {
	for text, n := range map[string]int{`{"taskId":"a"}{"taskId":"b"}`: 2, ` [{"taskId":"a"},{"taskId":"b"},{"taskId":"c"}]`: 3, "\uFEFF{\"taskId\":\"a\"}\n": 1} {
		all, err := splitMessages([]byte(text))
		require.NoError(t, err)
		require.Len(t, all, n)
	}
	for text, want := range map[string]string{"": "no message", "[{]": "not a JSON list", `{"taskId":"a"} nonsense`: "message 2: not JSON"} {
		_, err := splitMessages([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	texts, err := encodeAll([]json.RawMessage{json.RawMessage(`{"taskId":"a","payload":{}}`)})
	require.NoError(t, err)
	back, err := taskmessage.Decode(texts[0])
	require.NoError(t, err)
	require.Equal(t, "a", back.TaskID)
	_, err = encodeAll([]json.RawMessage{json.RawMessage(`{"taskId":"a/b"}`), json.RawMessage(`{"taskId":"a"}`), json.RawMessage(`{}`)})
	require.ErrorContains(t, err, "message 1: ")
	require.ErrorContains(t, err, "message 3: ")
	require.NotContains(t, err.Error(), "message 2: ")
}

// What is on a poison queue and is no record of ours is shown as it is, and never
// replayed.
func TestAStrangerOnThePoisonQueueIsShown(t *testing.T) {
	p := readPoison("id-1", "not ours")
	require.Equal(t, []any{"id-1", "not ours", 8}, []any{p.MessageID, p.Body, p.BodyBytes})
	require.Error(t, p.broken)
	require.Empty(t, p.Task)
	require.Error(t, poisonChoice{}.check())
	require.True(t, poisonChoice{All: true}.has("x"))
	require.True(t, poisonChoice{ID: []string{"x"}}.has("x"))
	require.False(t, poisonChoice{ID: []string{"x"}}.has("y"))
	require.Equal(t, "tasks-poison", claiming.PoisonQueue("", "tasks"))
}

func TestRecordsComeFromAListADocumentOrFlags(t *testing.T) {
	one := []json.RawMessage{json.RawMessage(`{"Data":"eA==","PartitionKey":"k"}`)}
	for stdin, want := range map[string]int{`[{"Data":"eA=="},{"Data":"eQ=="}]`: 2, `{"records":[{"Data":"eA=="}]}`: 1, "- Data: eA==\n": 1, "[]": 0} {
		got, err := producerAddCmd{fileFlag: fileFlag{"-"}}.records(testApp(stdin))
		require.NoError(t, err, stdin)
		require.Len(t, got, want, stdin)
	}
	_, err := producerAddCmd{fileFlag: fileFlag{"-"}}.records(testApp(`{"colour":1}`))
	require.ErrorContains(t, err, `a list of records, or {"records":[…]}, is expected`)
	got, err := producerAddCmd{Data: "x", PartitionKey: "k"}.records(testApp(""))
	require.NoError(t, err)
	require.Equal(t, one, got)
	raw, err := addDocument(nil)
	require.NoError(t, err)
	require.Equal(t, `{"records":[]}`, string(raw))
}

func TestADefaultGivesWayToWhatIsGiven(t *testing.T) {
	raw, err := withDefault(json.RawMessage(`{"ttl":"1h"}`), "wait", "0s")
	require.NoError(t, err)
	require.JSONEq(t, `{"ttl":"1h","wait":"0s"}`, string(raw))
	raw, err = withDefault(json.RawMessage(`{"wait":"1s"}`), "wait", "0s")
	require.NoError(t, err)
	require.JSONEq(t, `{"wait":"1s"}`, string(raw))
}

func TestADelayIsLaidOverThatOfTheDocument(t *testing.T) {
	document := json.RawMessage(`{"delay":{"base":"10s","max":"1m"}}`)
	for want, f := range map[string]ruleFlags{
		`{"base":"10s","max":"1m"}`:                       {},
		`{"base":"5s","max":"1m"}`:                        {Delay: "5s"},
		`{"base":"10s","max":"1m","strategy":"constant"}`: {Strategy: "constant"},
	} {
		raw, err := f.delay(document)
		require.NoError(t, err)
		require.JSONEq(t, want, string(raw))
	}
	raw, err := ruleFlags{}.delay(json.RawMessage(`{}`))
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(raw))
}

// What the workers saw is told once a thing, and what can't be read not at all.
func TestTheDoctorReportsEachThingOnce(t *testing.T) {
	look := func(checks ...wire.DoctorCheck) json.RawMessage {
		raw, err := json.Marshal(wire.DoctorReport{Worker: "w", Queue: "q", Checks: checks})
		require.NoError(t, err)
		return raw
	}
	a := testApp("")
	table := wire.DoctorCheck{Name: "table", Target: "t", OK: true}
	got := a.reported(request.Result{Jobs: map[string]json.RawMessage{
		"call": look(table, wire.DoctorCheck{Name: "bucket", Target: "b"}), "azure": look(table), "broken": json.RawMessage(`7`)}})
	require.Len(t, got, 2)
	require.Contains(t, a.stderr.(*bytes.Buffer).String(), "worker w on q looked")
	require.Empty(t, optionalAzure(wire.DoctorInput{AzureQueues: []string{"tasks"}}))
	require.NotEmpty(t, optionalAzure(wire.DoctorInput{}))
	require.Equal(t, "waits for [a worker]; x", troubled{WaitsFor: []string{"a worker"}, LastError: "x"}.words())

	report := diagnosis{Checks: []wire.DoctorCheck{table}, Trouble: []troubled{{ID: "r", Type: "Request", WaitsFor: []string{}}}}
	require.NoError(t, doctorCmd{tableFlag: tableFlag{"table"}}.show(a, report))
	told := a.stdout.(*bytes.Buffer).String()
	require.Contains(t, told, "NAME ")
	require.Contains(t, told, "Request")
}

func TestADocumentIsWrittenToBeRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.json")
	require.NoError(t, writeFile(name, json.RawMessage(`{"a":1}`)))
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"a\": 1\n}\n", string(raw))
	require.Error(t, writeFile(filepath.Join(name, "below"), json.RawMessage(`{}`)))
}
