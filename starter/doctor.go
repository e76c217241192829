package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"sluice/internal/wire"
	"sluice/starter/internal/doctor"
	"sluice/workflows"
	"sluice/workflows/request"
)

// doctorCmd looks at everything that a workflow needs.
type doctorCmd struct {
	tableFlag
	ID         string   `arg:"" optional:"" help:"Workflow ID: look at this workflow, and at what its document names."`
	Table      []string `help:"DynamoDB tables to look at."`
	Stream     []string `help:"Kinesis streams to look at."`
	Bucket     []string `help:"Buckets to look at."`
	QueueURL   []string `name:"queue-url" help:"SQS queues to look at." placeholder:"URL"`
	AzureQueue []string `name:"azure-queue" help:"Azure queues to look at."`
	Limit      int      `help:"Workflows in trouble to list at most." default:"20"`
}

// diagnosis is the answer of doctor.
type diagnosis struct {
	Checks  []wire.DoctorCheck `json:"checks"`
	Trouble []troubled         `json:"trouble"` // workflows
}

// troubled is a workflow in trouble.
type troubled struct {
	ID        string   `json:"id"`
	Type      string   `json:"type"`
	State     string   `json:"state"`
	Trouble   string   `json:"trouble"`
	WaitsFor  []string `json:"waitsFor"`
	LastError string   `json:"lastError"`
}

// Run looks from the outside in: what can't be reached hides what is behind it.
func (d doctorCmd) Run(a *app) error {
	report := diagnosis{Checks: []wire.DoctorCheck{}, Trouble: []troubled{}}
	if err := a.noEquivalent(); err != nil {
		return err
	}
	if err := d.look(a, &report); err != nil {
		return err
	}
	if err := d.show(a, report); err != nil {
		return err
	}
	bad := 0
	for _, c := range report.Checks {
		if !c.OK {
			bad++
			a.note("%s %s: %s", c.Name, c.Target, c.Error)
		}
	}
	if bad > 0 {
		return failed("%s not in order", counted(bad, "thing"))
	}
	return nil
}

// show prints the report; as a table the checks, and then what is in trouble.
func (d doctorCmd) show(a *app, report diagnosis) error {
	if d.Output != "table" {
		return a.result(report)
	}
	if err := a.rows(d.tableFlag, report.Checks); err != nil || len(report.Trouble) == 0 {
		return err
	}
	return a.rows(d.tableFlag, report.Trouble)
}

func (d doctorCmd) look(a *app, report *diagnosis) error {
	c, err := a.temporal()
	if err != nil {
		report.Checks = append(report.Checks, wire.DoctorCheck{Name: "temporal", Error: describe(err)})
		return nil
	}
	t := doctor.Temporal{Client: c, Namespace: a.namespace}
	namespace := t.NamespaceCheck(a.ctx)
	report.Checks = append(report.Checks, t.Server(a.ctx), namespace)
	if !namespace.OK {
		return nil
	}
	attributes := t.Attributes(a.ctx)
	report.Checks = append(report.Checks, attributes)
	in := wire.DoctorInput{Tables: d.Table, Streams: d.Stream, Buckets: d.Bucket, QueueURLs: d.QueueURL, AzureQueues: d.AzureQueue}
	queue := a.cli.TaskQueue
	if d.ID != "" {
		if queue, err = d.workflow(a, report, &in); err != nil {
			return err
		}
	}
	polled := t.Pollers(a.ctx, queue, "")
	azure := t.Pollers(a.ctx, wire.AzureTaskQueue(queue), optionalAzure(in))
	owners := t.Pollers(a.ctx, a.cli.Budgets.Owners(), "")
	report.Checks = append(report.Checks, polled, azure, owners)
	if !attributes.OK {
		return nil
	}
	report.Checks = append(report.Checks, a.workersSee(in, queue, polled.OK, azure)...)
	report.Trouble, err = a.inTrouble(d.Limit)
	return err
}

// optionalAzure is why nobody has to poll for what needs Azure queues, unless one
// is named.
func optionalAzure(in wire.DoctorInput) string {
	if len(in.AzureQueues) > 0 {
		return ""
	}
	return "only claimers, ingestions and sends to Azure queues need a worker with Azure settings there"
}

// workflow looks at the one that was named and at its document, and returns its
// task queue.
func (d doctorCmd) workflow(a *app, report *diagnosis, in *wire.DoctorInput) (queue string, err error) {
	seen, err := a.describe(a.ctx, d.ID)
	if err != nil {
		return "", a.explainSilence(d.ID, err)
	}
	info := seen.described.GetWorkflowExecutionInfo()
	one := a.troubled(info)
	check := wire.DoctorCheck{Name: "workflow", Target: d.ID, OK: one.LastError == "" && len(one.WaitsFor) == 0, Detail: one.Type + " " + info.GetStatus().String()}
	if !check.OK {
		report.Trouble = append(report.Trouble, one)
		check.Error = one.words()
	} else if status := info.GetStatus(); status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		check.OK = false
		if err := a.connected.GetWorkflow(a.ctx, d.ID, "").Get(a.ctx, nil); err != nil {
			check.Error = describe(err)
		}
	}
	report.Checks = append(report.Checks, check)
	started, err := a.connected.GetWorkflowHistory(a.ctx, d.ID, info.GetExecution().GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Next()
	if err != nil {
		return "", err
	}
	var input json.RawMessage
	if seen.converter.FromPayloads(started.GetWorkflowExecutionStartedEventAttributes().GetInput(), &input) == nil {
		doctor.Named(in, input)
	}
	return info.GetTaskQueue(), nil
}

func (t troubled) words() string {
	words := ""
	if len(t.WaitsFor) > 0 {
		words = "waits for " + fmt.Sprint(t.WaitsFor) + "; "
	}
	return words + t.LastError
}

// workersPatience is how long the workers may take to look.
const workersPatience = time.Minute

// workersSee asks a worker what it sees of the outside world, by a request of a job
// for each task queue that is asked.
func (a *app) workersSee(in wire.DoctorInput, queue string, polled bool, azure wire.DoctorCheck) []wire.DoctorCheck {
	if !polled {
		return nil // nobody is there to look
	}
	far := in
	far.AzureQueues = nil
	jobs := []any{lookJob(onlyJob, queue, far)}
	if len(in.AzureQueues) > 0 && azure.OK {
		jobs = append(jobs, lookJob("azure", azure.Target, wire.DoctorInput{AzureQueues: in.AzureQueues}))
	}
	document, err := json.Marshal(map[string]any{"type": "doctor", "jobs": jobs})
	if err != nil {
		return []wire.DoctorCheck{{Name: "worker", Error: err.Error()}}
	}
	a.cli.TaskQueue = queue
	run, err := a.startRequest(requestStart{id: randomID("doctor/"), input: document})
	if err != nil {
		return []wire.DoctorCheck{{Name: "worker", Error: describe(err)}}
	}
	ctx, cancel := context.WithTimeout(a.ctx, workersPatience)
	defer cancel()
	var result request.Result
	if err := run.Get(ctx, &result); err != nil {
		return []wire.DoctorCheck{{Name: "worker", Target: queue, Error: "it did not look: " + describe(err)}}
	}
	return a.reported(result)
}

func (a *app) reported(result request.Result) (checks []wire.DoctorCheck) {
	for _, output := range result.Jobs {
		var report wire.DoctorReport
		if json.Unmarshal(output, &report) != nil {
			continue
		}
		a.note("worker %s on %s looked", report.Worker, report.Queue)
		for _, c := range report.Checks {
			if !slices.ContainsFunc(checks, func(other wire.DoctorCheck) bool { return other.Name == c.Name && other.Target == c.Target }) {
				checks = append(checks, c)
			}
		}
	}
	return checks
}

func lookJob(id, queue string, in wire.DoctorInput) any {
	return map[string]any{"id": id, "activity": wire.DoctorLook.Name, "taskQueue": queue, "timeout": "40s", "input": map[string]any{"$literal": in}}
}

// inTrouble lists running workflows that say that they are in trouble.
func (a *app) inTrouble(limit int) ([]troubled, error) {
	list := []troubled{}
	if !slices.Contains(workflows.AttributeNames(), wire.AttributeTrouble) {
		return list, nil
	}
	query := `ExecutionStatus = "Running" AND ` + wire.AttributeTrouble + ` IS NOT NULL AND ` + wire.AttributeTrouble + ` != ""`
	page, err := a.connected.ListWorkflow(a.ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: int32(limit)})
	if err != nil {
		return list, err
	}
	for _, e := range page.GetExecutions() {
		list = append(list, a.troubled(e))
	}
	return list, nil
}

// troubled asks a workflow itself, as far as it answers, and looks at it.
func (a *app) troubled(e *workflow.WorkflowExecutionInfo) troubled {
	t := troubled{ID: e.GetExecution().GetWorkflowId(), Type: e.GetType().GetName(), WaitsFor: []string{}}
	for name, to := range map[string]*string{wire.AttributeState: &t.State, wire.AttributeTrouble: &t.Trouble} {
		if payload := e.GetSearchAttributes().GetIndexedFields()[name]; payload != nil {
			_ = converter.GetDefaultDataConverter().FromPayload(payload, to) // one that can't be read is shown as empty
		}
	}
	ctx, cancel := context.WithTimeout(a.ctx, queryPatience)
	defer cancel()
	seen, err := a.describe(ctx, t.ID)
	if err != nil {
		return t
	}
	if answer, err := a.connected.QueryWorkflow(ctx, t.ID, "", workflows.QueryStatus); err == nil {
		_ = answer.Get(&seen.status) // what can't be read tells nothing
	}
	if found, err := a.troubleOf(seen); err == nil {
		t.WaitsFor, t.LastError = append(t.WaitsFor, found.WaitsFor...), found.LastError
	}
	return t
}
