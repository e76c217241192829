package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/workflows"
	quiescenceworkflow "sluice/workflows/quiescence"
)

// quiescenceCmd is the group of watches.
type quiescenceCmd struct {
	Run    quiescenceRunCmd    `cmd:"" help:"Watch a target until it falls quiet."`
	Tune   quiescenceTuneCmd   `cmd:"" help:"Change the rule of a watch that goes on."`
	Finish quiescenceFinishCmd `cmd:"" help:"End a watch as if its target were quiet."`
	Stop   quiescenceStopCmd   `cmd:"" help:"End a watch and do nothing further."`
	Status quiescenceStatusCmd `cmd:"" help:"Show a watch, with what was polled since its last report."`
}

// ruleFlags are the fields that `run` and `tune` share.
type ruleFlags struct {
	fileFlag
	Repeats    int    `help:"Successive unchanged polls."`
	Delay      string `help:"Time between two polls, such as 30s." placeholder:"DURATION"`
	Strategy   string `help:"How the delay follows the repeats: constant, inverse or exponential."`
	QuietFor   string `help:"Also this long since the last change." placeholder:"DURATION"`
	MinRecords int64  `help:"Records that must have been seen before quiet counts."`
	Expected   int64  `help:"Number of records that ends the watch at once."`
	Deadline   string `help:"Length or instant after which the watch ends whatever goes on."`
}

// fields are those that were given. A delay is laid over that of the document.
func (f ruleFlags) fields(document json.RawMessage) ([]field, error) {
	delay, err := f.delay(document)
	return []field{
		{"repeats", f.Repeats}, {"delay", delay}, {"quietFor", f.QuietFor},
		{"minRecords", f.MinRecords}, {"expected", f.Expected}, {"deadline", f.Deadline},
	}, err
}

func (f ruleFlags) delay(document json.RawMessage) (json.RawMessage, error) {
	var given struct {
		Delay json.RawMessage `json:"delay"`
	}
	if json.Unmarshal(document, &given) != nil || len(given.Delay) == 0 {
		given.Delay = json.RawMessage("{}")
	}
	return overlay(given.Delay, []field{{"base", f.Delay}, {"strategy", f.Strategy}})
}

// input is the file with the flags over it.
func (f ruleFlags) input(a *app, more ...field) (json.RawMessage, error) {
	document, err := a.document(f.fileFlag)
	if err != nil {
		return nil, err
	}
	fields, err := f.fields(document)
	if err != nil {
		return nil, err
	}
	return overlay(document, append(fields, more...))
}

type quiescenceRunCmd struct {
	ruleFlags
	waitFlag
	ID           string `help:"Workflow ID." placeholder:"quiescence/RANDOM"`
	Table        string `help:"Watch the item of this DynamoDB table whose id is --counter." placeholder:"TABLE"`
	Counter      string `help:"Id of the item, as CountObjects keeps it." placeholder:"BUCKET[/PREFIX]"`
	Bucket       string `help:"Watch the objects of this bucket."`
	Prefix       string `help:"Watch those under this prefix only."`
	QueueURL     string `help:"Watch the backlog of this SQS queue." name:"queue-url" placeholder:"URL"`
	StartTimeout string `help:"How long to wait for the first record." placeholder:"DURATION"`
}

func (r quiescenceRunCmd) source() (any, error) {
	switch {
	case r.Table != "" && r.Bucket == "" && r.QueueURL == "":
		if r.Counter == "" {
			return nil, usage("--table needs --counter")
		}
		return map[string]any{"dynamodb": map[string]any{"table": r.Table, "key": map[string]any{"id": map[string]string{"S": r.Counter}}}}, nil
	case r.Bucket != "" && r.Table == "" && r.QueueURL == "":
		return map[string]any{"s3": map[string]string{"bucket": r.Bucket, "prefix": r.Prefix}}, nil
	case r.QueueURL != "" && r.Table == "" && r.Bucket == "":
		return map[string]any{"sqs": map[string]string{"queueUrl": r.QueueURL}}, nil
	case r.Table == "" && r.Bucket == "" && r.QueueURL == "":
		return nil, nil // the document has it
	default:
		return nil, usage("only one of --table, --bucket and --queue-url")
	}
}

func (r quiescenceRunCmd) Run(a *app) error {
	source, err := r.source()
	if err != nil {
		return err
	}
	input, err := r.input(a, field{"source", source}, field{"startTimeout", r.StartTimeout})
	if err != nil {
		return err
	}
	id := r.ID
	if id == "" {
		id = randomID("quiescence/")
	}
	run, err := a.start(launch{
		workflowType: workflows.TypeQuiescence, id: id, input: input, target: sourceOf(input).Target(),
		options: client.StartWorkflowOptions{StaticSummary: "Waits until " + targetOf(input) + " is quiet"},
	})
	if err != nil {
		return err
	}
	if !r.Wait {
		return a.started(run)
	}
	raw, err := a.follow(run, quiescenceProgress)
	if err != nil {
		return err
	}
	if err := a.result(raw); err != nil {
		return err
	}
	var result quiescenceworkflow.Result
	if err := json.Unmarshal(raw, &result); err != nil {
		return err
	}
	return judge(&result)
}

func targetOf(input json.RawMessage) string { return cmp.Or(sourceOf(input).Target(), "a target") }

func sourceOf(input json.RawMessage) wire.Source {
	var in struct{ Source wire.Source }
	_ = json.Unmarshal(input, &in) // the faults are told by who checks the document
	return in.Source
}

// judge is nil for an end that was waited for, with all that was to follow it.
func judge(result *quiescenceworkflow.Result) error {
	switch result.Reason {
	case quiescence.ReasonQuiet, quiescence.ReasonExpected, quiescence.ReasonForced:
	default:
		why := result.Reason
		if result.LastError != "" {
			why += "; last error: " + result.LastError
		}
		return failed("ended: %s", why)
	}
	for _, then := range result.Then {
		if !then.OK {
			return failed("%s: %s", then.Name(), then.Error)
		}
	}
	return nil
}

type quiescenceTuneCmd struct {
	ruleFlags
	ID string `arg:"" help:"Workflow ID."`
}

func (t quiescenceTuneCmd) Run(a *app) error {
	input, err := t.input(a)
	if err != nil {
		return err
	}
	return a.printUpdate(t.ID, workflows.UpdateTune, input)
}

type reasonFlag struct {
	ID     string `arg:"" help:"Workflow ID."`
	Reason string `help:"Kept with the result."`
}

func (f reasonFlag) input() (json.RawMessage, error) {
	return overlay(json.RawMessage("{}"), []field{{"reason", f.Reason}})
}

type quiescenceFinishCmd struct{ reasonFlag }

func (f quiescenceFinishCmd) Run(a *app) error {
	input, err := f.input()
	if err != nil {
		return err
	}
	return a.printUpdate(f.ID, workflows.UpdateFinish, input)
}

type quiescenceStopCmd struct{ reasonFlag }

func (s quiescenceStopCmd) Run(a *app) error {
	input, err := s.input()
	if err != nil {
		return err
	}
	return a.printUpdate(s.ID, workflows.UpdateStop, input)
}

type quiescenceStatusCmd struct {
	tableFlag
	ID string `arg:"" help:"Workflow ID."`
}

func (s quiescenceStatusCmd) Run(a *app) error {
	seen, err := a.seeStatus(s.ID)
	if err != nil {
		return err
	}
	status, err := liveQuiescence(seen)
	if err != nil {
		return err
	}
	if err := a.showStatus(s.tableFlag, seen, status); err != nil || status.Result == nil {
		return err
	}
	return judge(status.Result)
}

// liveQuiescence puts what the polling activity last heartbeat over a status,
// which is as old as its last report.
func liveQuiescence(seen sight) (quiescenceworkflow.Status, error) {
	var status quiescenceworkflow.Status
	if err := json.Unmarshal(seen.status, &status); err != nil {
		return status, err
	}
	var beat wire.WatchBeat
	if !seen.heartbeat(wire.WatchQuiescence.Name, &beat) || beat.LastPollAt.Before(status.AsOf) {
		return status, nil
	}
	status.AsOf = beat.LastPollAt
	if status.Phase != quiescence.Done { // a message has ended it
		status.Phase = beat.Phase()
	}
	status.Count, status.Repeats = beat.Count, beat.Repeats
	status.Polls, status.FailedPolls, status.LastError = beat.Polls, beat.FailedPolls, beat.LastError
	status.LastChangeAt, status.NextPollAt, status.QuietAt = instant(beat.LastChangeAt), instant(beat.NextPollAt), instant(beat.QuietAt)
	status.Generation = max(beat.Generation, 1)
	return status, nil
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// quiescenceProgress tells count, repeats and the time to quiet.
func quiescenceProgress(seen sight) (int64, int64, string) {
	status, err := liveQuiescence(seen)
	if err != nil {
		return 0, 0, "starting"
	}
	words := fmt.Sprintf("%-8s %d seen", status.Phase, status.Count)
	if status.QuietAt != nil {
		words += fmt.Sprintf(", quiet in %s", max(time.Until(*status.QuietAt), 0).Round(time.Second))
	}
	needed := int64(status.RepeatsNeeded)
	return min(int64(status.Repeats), needed), needed, words + ", unchanged polls"
}
