package main

import (
	"encoding/json"
	"os"
	"strings"

	requestworkflow "sluice/workflows/request"
)

// oneJobFlags are shared by the commands that run one activity as a request of
// one job, so that it can be suspended, seen and stopped like any other.
type oneJobFlags struct {
	fileFlag
	waitFlag
	ID           string `help:"Workflow ID." placeholder:"request/RANDOM"`
	CLIInputJSON string `name:"cli-input-json" help:"The operation's document, as the aws command takes it: JSON or file://PATH." placeholder:"JSON"`
	Priority     int    `help:"Temporal's priority, 1 (highest) to 5." default:"3"`
	Retry        int    `help:"Tries after the first."`
	Timeout      string `help:"Longest time for one dispatch of the job." placeholder:"10m"`
}

// onlyJob is the ID of the one job.
const onlyJob = "call"

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
	request, err := json.Marshal(map[string]any{"type": activity, "jobs": []json.RawMessage{job}})
	if err != nil {
		return err
	}
	if !f.Wait {
		return a.runRequest(f.ID, request, false)
	}
	return a.printOneJob(f, request, progress)
}

// printOneJob waits for the request and prints what its job answered.
func (a *app) printOneJob(f oneJobFlags, request json.RawMessage, progress progressOf) error {
	run, err := a.startRequest(f.ID, request)
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
	output, there := result.Jobs[onlyJob]
	if !there {
		return failed("the request is %s, and its job has no output", result.State)
	}
	return a.result(output)
}

// oneJobError is the error of the job, which says more than that of its request.
func oneJobError(err error) error {
	status, ok := failureDetails(err)
	var view struct {
		Jobs []struct{ Error string }
	}
	if !ok || json.Unmarshal(status, &view) != nil || len(view.Jobs) != 1 || view.Jobs[0].Error == "" {
		return err
	}
	return failed("%s", view.Jobs[0].Error)
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
