package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sluice/activities/kinesis"
	"sluice/internal/throughput"
	"sluice/internal/wire"
	requestworkflow "sluice/workflows/request"
)

// dynamodbCmd runs one operation as a request of one job.
type dynamodbCmd struct {
	Operation   string `arg:"" help:"The operation, as the aws command (put-item) or the API (PutItem) spells it."`
	UntilActive bool   `name:"until-active" help:"Of create-table and update-table: go on until the table is ACTIVE, and answer its description."`
	oneJobFlags
}

func (d dynamodbCmd) Run(a *app) error {
	operation, ok := operationNamed(d.Operation)
	if !ok {
		return usage("no operation %q; there are %s", d.Operation, strings.Join(operationNames(), ", "))
	}
	if !d.UntilActive {
		return a.runOneJob(wire.DynamoDBPrefix+operation, d.oneJobFlags, requestProgress)
	}
	if operation != "CreateTable" && operation != "UpdateTable" {
		return usage("--until-active is for create-table and update-table, not for %s", d.Operation)
	}
	d.oneJobFlags.untilActive = true
	return a.runOneJob(wire.DynamoDBPrefix+operation, d.oneJobFlags, requestProgress)
}

// operationNamed finds the API's name for either spelling.
func operationNamed(name string) (string, bool) {
	plain := strings.ToLower(strings.ReplaceAll(name, "-", ""))
	for _, op := range throughput.Operations() {
		if strings.ToLower(op.Name) == plain {
			return op.Name, true
		}
	}
	return "", false
}

// operationNames are the operations as the aws command spells them.
func operationNames() (names []string) {
	for _, op := range throughput.Operations() {
		var b strings.Builder
		for i, r := range op.Name {
			if i > 0 && r >= 'A' && r <= 'Z' {
				b.WriteByte('-')
			}
			b.WriteRune(r)
		}
		names = append(names, strings.ToLower(b.String()))
	}
	return names
}

// kinesisCmd runs one Kinesis activity as a request of one job.
type kinesisCmd struct {
	PutRecords kinesisPutRecordsCmd `cmd:"" help:"Put records to a stream."`
	PutObject  kinesisPutObjectCmd  `cmd:"" help:"Put the records of an S3 object to a stream."`
}

type kinesisPutRecordsCmd struct{ oneJobFlags }

func (k kinesisPutRecordsCmd) Run(a *app) error {
	return a.runOneJob(wire.KinesisPutRecords, k.oneJobFlags, requestProgress)
}

type kinesisPutObjectCmd struct{ oneJobFlags }

func (k kinesisPutObjectCmd) Run(a *app) error {
	return a.runOneJob(wire.KinesisPutObject, k.oneJobFlags, objectProgress)
}

// objectProgress is how far the object is, which only the activity's heartbeats
// tell: in bytes, or in records where the object is compressed or its size not
// known.
func objectProgress(seen sight) (done, total int64, words string) {
	done, total, words = requestProgress(seen)
	var beat struct {
		Offset, Size int64
		Coding       string
		Output       kinesis.PutRecordsOutput
	}
	if !seen.heartbeat(wire.KinesisPutObject, &beat) {
		return done, total, words
	}
	stored := beat.Output.StoredRecordCount
	if beat.Size == 0 || beat.Coding != "" {
		return stored, 0, words + ", records stored"
	}
	return beat.Offset, beat.Size, fmt.Sprintf("%s, %d records stored, bytes", words, stored)
}

// oneJobFlags are shared by the commands that run one activity as a request of
// one job, so that it can be suspended, seen and stopped like any other.
type oneJobFlags struct {
	fileFlag
	waitFlag
	ID           string `help:"Workflow ID." placeholder:"request/RANDOM"`
	Again        bool   `help:"Start it also if a request of this ID has completed."`
	CLIInputJSON string `name:"cli-input-json" help:"The operation's document, as the aws command takes it: JSON or file://PATH." placeholder:"JSON"`
	Priority     int    `help:"Temporal's priority, 1 (highest) to 5." default:"3"`
	Retry        int    `help:"Tries after the first."`
	Timeout      string `help:"Longest time for one dispatch of the job." placeholder:"10m"`
	untilActive  bool
}

// onlyJob is the ID of the one job, activeJob that of the wait for a table after it.
const (
	onlyJob   = "call"
	activeJob = "active"
)

// last is the job whose output is the command's.
func (f oneJobFlags) last() string {
	if f.untilActive {
		return activeJob
	}
	return onlyJob
}

// runOneJob starts the request. With wait it prints the activity's own output.
func (a *app) runOneJob(activity string, f oneJobFlags, progress progressOf) error {
	input, err := a.operationInput(f)
	if err != nil {
		return err
	}
	job, err := overlay(json.RawMessage(`{"id":"`+onlyJob+`","heartbeat":"15s"}`), []field{
		{"activity", activity},
		{"input", map[string]json.RawMessage{"$literal": input}},
		{"priority", f.Priority}, {"retry", f.Retry}, {"timeout", f.Timeout},
	})
	if err != nil {
		return err
	}
	jobs := []json.RawMessage{job}
	if f.untilActive {
		jobs = append(jobs, json.RawMessage(`{"id":"`+activeJob+`","after":["`+onlyJob+`"],"activity":"`+wire.AwaitActive.Name+`","heartbeat":"15s",
			"input":{"TableName":{"$from":"jobs.`+onlyJob+`.TableDescription.TableName"}}}`))
	}
	request, err := json.Marshal(map[string]any{"type": activity, "jobs": jobs})
	if err != nil {
		return err
	}
	if !f.Wait {
		return a.runRequest(requestStart{f.ID, request, f.Again}, false)
	}
	return a.printOneJob(f, request, progress)
}

// printOneJob waits for the request and prints what its job answered.
func (a *app) printOneJob(f oneJobFlags, request json.RawMessage, progress progressOf) error {
	run, err := a.startRequest(requestStart{f.ID, request, f.Again})
	if err != nil {
		return err
	}
	raw, err := a.follow(run, progress)
	if err != nil {
		return oneJobError(err)
	}
	var result requestworkflow.Result
	if err := json.Unmarshal(raw, &result); err != nil {
		return err
	}
	output, there := result.Jobs[f.last()]
	if !there {
		return failed("the request is %s, and its job has no output", result.State)
	}
	if err := a.result(output); err != nil {
		return err
	}
	return judgeRecords(output)
}

// judgeRecords fails where the output of a job says that records are not stored,
// which is no error of the job.
func judgeRecords(output json.RawMessage) error {
	var put kinesis.PutRecordsOutput
	if json.Unmarshal(output, &put) != nil || put.FailedRecordCount == 0 {
		return nil //nolint:nilerr // another operation's, or all are stored
	}
	return failed("%d of %s failed%s", put.FailedRecordCount, counted(int(put.RecordCount), "record"), why(put.Failed))
}

func why(failed []kinesis.FailedRecord) string {
	if len(failed) == 0 {
		return ""
	}
	return fmt.Sprintf("; record %d: %s: %s", failed[0].Index, failed[0].ErrorCode, failed[0].ErrorMessage)
}

// oneJobError is the error of the job, which says more than that of its request.
func oneJobError(err error) error {
	status, ok := failureDetails(err)
	var view struct {
		Jobs []struct{ Error string }
	}
	if !ok || json.Unmarshal(status, &view) != nil {
		return err
	}
	for _, job := range view.Jobs {
		if job.Error != "" {
			return failed("%s", job.Error)
		}
	}
	return err
}

// operationInput is the document given by --cli-input-json or -f.
func (a *app) operationInput(f oneJobFlags) (json.RawMessage, error) {
	switch {
	case (f.CLIInputJSON == "") == (f.File == ""):
		return nil, usage("give the document by either --cli-input-json or -f")
	case f.File != "":
		return a.document(f.fileFlag)
	}
	raw := []byte(f.CLIInputJSON)
	if path, ok := strings.CutPrefix(f.CLIInputJSON, "file://"); ok {
		read, err := os.ReadFile(path)
		if err != nil {
			return nil, usage("%v", err)
		}
		raw = read
	}
	document, err := toJSON(raw)
	if err != nil {
		return nil, usage("--cli-input-json: %v", err)
	}
	if document[0] != '{' {
		return nil, usage("--cli-input-json: an object is expected, such as '{\"TableName\":\"t\"}'; a file goes as file://PATH")
	}
	return document, nil
}
