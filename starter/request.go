package main

import (
	"encoding/json"
	"errors"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/jobchain"
	"sluice/starter/internal/yaml"
	"sluice/workflows"
	"sluice/workflows/request"
)

// requestCmd is the group of requests: chains of jobs.
type requestCmd struct {
	Run      requestRunCmd      `cmd:"" help:"Start a request."`
	Validate requestValidateCmd `cmd:"" help:"Check a document without a server; all faults at once."`
	Suspend  requestSuspendCmd  `cmd:"" help:"Stop the jobs and start none until resumed."`
	Resume   requestResumeCmd   `cmd:"" help:"Go on after suspend."`
	Stop     requestStopCmd     `cmd:"" help:"Stop the jobs and end as STOPPED."`
	Claim    requestClaimCmd    `cmd:"" help:"Claim the right to resume a suspended request, or extend the claim."`
	Unclaim  requestUnclaimCmd  `cmd:"" help:"End a claim."`
	Status   requestStatusCmd   `cmd:"" help:"Show a request and its jobs; exit status 3 while it is alive."`
	List     requestListCmd     `cmd:"" help:"List requests, newest first."`
	Log      requestLogCmd      `cmd:"" help:"Show every try of every job."`
	Export   requestExportCmd   `cmd:"" help:"Write a request as a document that run --from starts, finished jobs kept."`
	Rerun    requestRerunCmd    `cmd:"" help:"Start a request that did not complete again, from its unfinished jobs."`
}

type requestRunCmd struct {
	fileFlag
	waitFlag
	ID              string `help:"Workflow ID." placeholder:"request/RANDOM"`
	Again           bool   `help:"Start it also if a request of this ID has completed."`
	From            string `help:"A document that export wrote; its finished jobs are kept." placeholder:"FILE"`
	Type            string `help:"Label, shown and searchable."`
	Args            string `help:"The request's args, as JSON." placeholder:"JSON"`
	SuspendTTL      string `name:"suspend-ttl" help:"How long a suspension may last; 0s for ever." placeholder:"1h"`
	Deadline        string `help:"Length or instant by which the request has to be complete."`
	MaxParallelJobs int    `name:"max-parallel-jobs" help:"Jobs running at once." placeholder:"500"`
	FairnessKey     string `name:"fairness-key" help:"Temporal's, handed to the jobs."`
}

func (r requestRunCmd) Run(a *app) error {
	if (r.File == "") == (r.From == "") {
		return usage("give the document by either -f or --from")
	}
	if r.From != "" {
		r.File = r.From
	}
	input, err := a.document(r.fileFlag, field{"type", r.Type}, field{"args", json.RawMessage(orNull(r.Args))},
		field{"suspendTTL", r.SuspendTTL}, field{"deadline", r.Deadline}, field{"maxParallelJobs", r.MaxParallelJobs}, field{"fairnessKey", r.FairnessKey})
	if err != nil {
		return err
	}
	return a.runRequest(requestStart{r.ID, input, r.Again}, r.Wait)
}

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return text
}

// runRequest starts a request and, with wait, follows it to its end. A document
// with faults is refused here, before anything is started.
func (a *app) runRequest(s requestStart, wait bool) error {
	run, err := a.startRequest(s)
	if err != nil {
		return err
	}
	if !wait {
		return a.started(run)
	}
	return a.finishRequest(run)
}

// requestStart is a request to start: under a random ID where none is given, and
// again where it has completed.
type requestStart struct {
	id    string
	input json.RawMessage
	again bool
}

func (a *app) startRequest(s requestStart) (begun, error) {
	doc, _ := jobchain.Parse(s.input) // start tells the faults
	if s.id == "" {
		s.id = randomID("request/")
	}
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	if s.again {
		reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	kind := doc.Type
	if kind == "" {
		kind = workflows.TypeRequest
	}
	return a.start(launch{
		workflowType: workflows.TypeRequest, id: s.id, input: s.input,
		options: client.StartWorkflowOptions{
			WorkflowIDReusePolicy: reuse,
			StaticSummary:         kind + ": " + activities.Plural(len(doc.Jobs), "job"),
			TypedSearchAttributes: activities.StartAttributes(string(jobchain.Running), kind, doc.Target()),
		},
	})
}

// finishRequest follows a request and prints how it ended: the result, or the
// status document of one that failed.
func (a *app) finishRequest(run begun) error {
	raw, err := a.follow(run, requestProgress)
	if err != nil {
		if status, ok := failureDetails(err); ok {
			if err := a.result(status); err != nil {
				return err
			}
		}
		return err
	}
	if err := a.result(raw); err != nil {
		return err
	}
	var result request.Result
	if err := json.Unmarshal(raw, &result); err != nil {
		return err
	}
	if result.State != jobchain.Complete {
		return failed("the request is %s: %d of %d jobs are complete", result.State, result.FinishedJobs, result.TotalJobs)
	}
	return nil
}

func requestProgress(seen sight) (done, total int64, words string) {
	var s request.Status
	if json.Unmarshal(seen.status, &s) != nil {
		return 0, 0, "starting"
	}
	return int64(s.FinishedJobs), int64(s.TotalJobs), string(s.State)
}

type requestValidateCmd struct {
	File string `short:"f" required:"" help:"The document, JSON or YAML; - is standard input." placeholder:"FILE"`
}

// validated is what validate prints.
type validated struct {
	Valid    bool     `json:"valid"`
	Jobs     int      `json:"jobs"`
	Faults   []string `json:"faults"`
	Warnings []string `json:"warnings"`
}

// Run tells more than a start refuses: also jobs that are bound to fail, and what
// is allowed but seldom meant.
func (r requestValidateCmd) Run(a *app) error {
	read, err := a.readFile(r.File)
	if err != nil {
		return err
	}
	input, err := toJSON(read)
	if err != nil {
		return usage("%s: %v", r.File, err)
	}
	doc, faults := jobchain.Parse(input)
	var warnings document.Faults
	if len(faults) == 0 {
		faults, warnings = doc.Missing(), doc.Advice()
	}
	lines := yaml.LinesOf(read)
	v := validated{Valid: len(faults) == 0, Jobs: len(doc.Jobs), Faults: lines.Tell(faults), Warnings: lines.Tell(warnings)}
	if err := a.result(v); err != nil {
		return err
	}
	if !v.Valid {
		return failed("the document has %s", counted(len(faults), "fault"))
	}
	return nil
}

// requestID is the argument of commands on one request.
type requestID struct {
	ID string `arg:"" help:"Workflow ID of the request."`
}

type requestClaimCmd struct {
	requestID
	Holder string `required:"" help:"Who claims."`
	Lease  string `help:"How long the claim lasts unless extended." placeholder:"5m"`
	Token  int64  `help:"Token of the claim to extend."`
}

func (r requestClaimCmd) Run(a *app) error {
	input, err := overlay(json.RawMessage("{}"), []field{{"holder", r.Holder}, {"lease", r.Lease}, {"token", r.Token}})
	if err != nil {
		return err
	}
	raw, err := a.updateRequest(r.ID, workflows.UpdateClaim, input)
	if err != nil {
		return err
	}
	var answer request.ClaimAnswer
	if err := errors.Join(json.Unmarshal(raw, &answer), a.result(raw)); err != nil {
		return err
	}
	if !answer.Claimed {
		return failed("%s is claimed by %s", r.ID, answer.Holder)
	}
	return nil
}

type requestUnclaimCmd struct {
	requestID
	Holder string `help:"Who claimed."`
	Token  int64  `help:"Token of the claim."`
	Force  bool   `help:"End anybody's claim."`
}

// Validate refuses what the request would refuse.
func (r requestUnclaimCmd) Validate() error {
	if r.Holder == "" && !r.Force {
		return errors.New("give --holder, or --force to end anybody's claim")
	}
	return nil
}

func (r requestUnclaimCmd) Run(a *app) error {
	input, err := overlay(json.RawMessage("{}"), []field{{"holder", r.Holder}, {"token", r.Token}, {"force", r.Force}})
	if err != nil {
		return err
	}
	return a.printRequestUpdate(r.ID, workflows.UpdateUnclaim, input)
}

// updateRequest is update with the state of a request that has ended in the
// error.
func (a *app) updateRequest(id, name string, input json.RawMessage) (json.RawMessage, error) {
	answer, err := a.update(id, name, input)
	var ended exit
	var nobody unpolled
	if err == nil || a.connected == nil || errors.As(err, &nobody) || !errors.As(err, &ended) {
		return answer, err
	}
	raw, queryErr := a.connected.QueryWorkflow(a.ctx, id, "", workflows.QueryStatus, map[string]int{"limit": 0})
	var s request.Status
	if queryErr != nil || raw.Get(&s) != nil {
		return nil, err
	}
	return nil, failed("can't %s %s: it has ended: %s", name, id, s.State)
}

func (a *app) printRequestUpdate(id, name string, input json.RawMessage) error {
	answer, err := a.updateRequest(id, name, input)
	if err != nil {
		return err
	}
	var told struct{ Notice string }
	if json.Unmarshal(answer, &told) == nil && told.Notice != "" {
		a.note("%s %s", id, told.Notice)
	}
	return a.result(answer)
}

type requestExportCmd struct {
	requestID
	Output string `short:"o" help:"File to write instead of standard output." placeholder:"FILE"`
}

func (r requestExportCmd) Run(a *app) error {
	raw, err := a.query(r.ID, workflows.QueryExport)
	if err != nil {
		return err
	}
	if r.Output == "" {
		return a.result(raw)
	}
	return writeFile(r.Output, raw)
}

type requestRerunCmd struct {
	requestID
	waitFlag
	NewID string   `name:"new-id" help:"Workflow ID of the new request; by default the same."`
	Skip  []string `help:"Job to take as complete without an output; may be repeated." placeholder:"JOB"`
}

func (r requestRerunCmd) Run(a *app) error {
	raw, err := a.query(r.ID, workflows.QueryExport)
	if err != nil {
		return err
	}
	described, err := a.connected.DescribeWorkflow(a.ctx, r.ID, "")
	if err != nil {
		return err
	}
	switch described.RawResponse.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return failed("Conflict: %s is still alive; stop it first, or resume it", r.ID)
	default:
	}
	input, err := skipJobs(raw, r.Skip)
	if err != nil {
		return err
	}
	id := r.NewID
	if id == "" {
		id = r.ID
	}
	return a.runRequest(requestStart{id: id, input: input, again: true}, r.Wait)
}

// skipJobs adds jobs to the finished ones of a document, as null.
func skipJobs(raw json.RawMessage, skip []string) (json.RawMessage, error) {
	doc := jobchain.NewDocument()
	if err := document.Decode(raw, &doc).Err(); err != nil {
		return nil, err
	}
	if doc.Finished == nil {
		doc.Finished = map[string]json.RawMessage{}
	}
	for _, id := range skip {
		if !slices.ContainsFunc(doc.Jobs, func(j jobchain.Job) bool { return j.ID == id }) {
			return nil, usage("--skip: no job %q", id)
		}
		doc.Finished[id] = json.RawMessage("null")
	}
	if len(doc.Finished) == len(doc.Jobs) {
		return nil, failed("nothing to run: all %d jobs are complete", len(doc.Jobs))
	}
	return json.Marshal(doc)
}
