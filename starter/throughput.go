package main

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"sluice"
	"sluice/internal/throughput"
	"sluice/starter/internal/equivalent"
	"sluice/workflows"
	throughputworkflow "sluice/workflows/throughput"
)

// throughputCmd is the group of budgets.
type throughputCmd struct {
	List    throughputListCmd    `cmd:"" help:"List the budgets in use."`
	Status  throughputStatusCmd  `cmd:"" help:"Show a budget: its ceiling, who holds which share."`
	Set     throughputSetCmd     `cmd:"" help:"Set a budget by hand; it then stays until set back."`
	Pause   throughputPauseCmd   `cmd:"" help:"Let no calls go out, on one budget or on all."`
	Unpause throughputUnpauseCmd `cmd:"" help:"Let calls go out again."`
}

// budgetArg names a budget.
type budgetArg struct {
	Resource string `arg:"" help:"The budget, such as dynamodb/eu-west-1/orders/read."`
}

// resourceNamed checks the name, which may be the workflow ID.
func resourceNamed(name string) (string, error) {
	if resource, ok := workflows.ThroughputResource(name); ok {
		name = resource
	}
	if _, err := throughput.ParseResource(name); err != nil {
		return "", usage("%v", err)
	}
	return name, nil
}

type throughputListCmd struct{ tableFlag }

// budgetLine is one budget in a list.
type budgetLine struct {
	Resource   string `json:"resource"`
	WorkflowID string `json:"workflowId"`
}

func (t throughputListCmd) Run(a *app) error {
	resources, err := a.budgets()
	if err != nil {
		return err
	}
	lines := make([]budgetLine, len(resources))
	for i, resource := range resources {
		lines[i] = budgetLine{resource, workflows.ThroughputID(resource)}
	}
	return a.rows(t.tableFlag, lines)
}

// budgets are the resources of all running owners, sorted.
func (a *app) budgets() ([]string, error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Query: "WorkflowType = '" + workflows.TypeThroughput + "' AND ExecutionStatus = 'Running'",
	}
	c, err := a.same([]string{"temporal", "workflow", "list", "--query", request.Query})
	if err != nil {
		return nil, err
	}
	var resources []string
	for {
		page, err := c.ListWorkflow(a.ctx, request)
		if err != nil {
			return nil, err
		}
		for _, execution := range page.GetExecutions() {
			if resource, ok := workflows.ThroughputResource(execution.GetExecution().GetWorkflowId()); ok {
				resources = append(resources, resource)
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			slices.Sort(resources)
			return slices.Compact(resources), nil
		}
	}
}

type throughputStatusCmd struct {
	budgetArg
	tableFlag
}

func (t throughputStatusCmd) Run(a *app) error {
	resource, err := resourceNamed(t.Resource)
	if err != nil {
		return err
	}
	return a.status(t.tableFlag, workflows.ThroughputID(resource))
}

type throughputSetCmd struct {
	budgetArg
	UnitsPerSecond *float64 `name:"units-per-second" help:"Units a second for the whole fleet; 0 goes back to what the service says."`
	Utilization    *float64 `help:"Part of it that is used, 0.01 to 1." placeholder:"0.98"`
}

func (t throughputSetCmd) Run(a *app) error {
	resource, err := resourceNamed(t.Resource)
	if err != nil {
		return err
	}
	if t.UnitsPerSecond == nil && t.Utilization == nil {
		return usage("nothing to set: give --units-per-second, --utilization or both")
	}
	set := map[string]json.RawMessage{}
	for name, value := range map[string]*float64{"unitsPerSecond": t.UnitsPerSecond, "utilization": t.Utilization} {
		if value != nil {
			set[name] = json.RawMessage(strconv.FormatFloat(*value, 'f', -1, 64))
		}
	}
	input, err := json.Marshal(set)
	if err != nil {
		return err
	}
	return a.printOwnerUpdate(resource, workflows.UpdateSet, input)
}

// manyBudgets chooses one budget or all.
type manyBudgets struct {
	Resource string `arg:"" optional:"" help:"The budget, such as dynamodb/eu-west-1/orders/read."`
	All      bool   `help:"All budgets in use, of SLUICE_THROUGHPUT_SCOPE where it is set, and the control planes."`
}

// everything is all budgets in use, of the scope at hand where there is one, and
// the control planes of their places and of the region at hand.
func (m manyBudgets) everything(a *app) ([]string, error) {
	running, err := a.budgets()
	if err != nil {
		return nil, err
	}
	var resources []string
	for _, resource := range running {
		if a.cli.Budgets.Scope == "" || strings.HasPrefix(resource, "dynamodb/"+a.cli.Budgets.Scope+"/") {
			resources = append(resources, resource)
		}
	}
	config, err := sluice.AWS(a.ctx)
	if err != nil {
		return nil, err
	}
	places := []string{}
	if config.Region != "" {
		places = append(places, path.Join(a.cli.Budgets.Scope, config.Region))
	}
	for _, resource := range resources {
		if r, err := throughput.ParseResource(resource); err == nil {
			places = append(places, r.Place)
		}
	}
	for _, place := range places {
		resources = append(resources, throughput.ControlPlane(place, throughput.Read).String(), throughput.ControlPlane(place, throughput.Write).String())
	}
	slices.Sort(resources)
	return slices.Compact(resources), nil
}

type throughputPauseCmd struct {
	manyBudgets
	Reason string `help:"Why; shown and kept."`
	For    string `help:"How long; by default until unpaused." placeholder:"5m"`
}

func (t throughputPauseCmd) Run(a *app) error {
	return t.send(a, workflows.UpdatePause, field{"reason", t.Reason}, field{"for", t.For})
}

type throughputUnpauseCmd struct{ manyBudgets }

func (t throughputUnpauseCmd) Run(a *app) error { return t.send(a, workflows.UpdateUnpause) }

// send tells one budget by update, and prints its status, or all by signal, which
// also reaches those whose workers are away, and prints their names.
func (m manyBudgets) send(a *app, name string, given ...field) error {
	if m.All == (m.Resource != "") {
		return usage("name one budget, or give --all")
	}
	input, err := overlay(json.RawMessage("{}"), given)
	if err != nil {
		return err
	}
	if !m.All {
		resource, err := resourceNamed(m.Resource)
		if err != nil {
			return err
		}
		return a.printOwnerUpdate(resource, name, input)
	}
	resources, err := m.everything(a)
	if err != nil {
		return err
	}
	for _, resource := range resources {
		if err := a.signalOwner(resource, name, input); err != nil {
			return err
		}
	}
	return a.result(map[string]any{"signal": name, "resources": resources})
}

// signalOwner signals the owner of a budget, and starts it where none runs.
func (a *app) signalOwner(resource, name string, input json.RawMessage) error {
	c, err := a.same(equivalent.Signal(workflows.ThroughputID(resource), name, input))
	if err != nil {
		return err
	}
	options, start := throughputworkflow.Owners{Client: c, TaskQueue: a.cli.Budgets.Owners()}.Options(resource)
	_, err = c.SignalWithStartWorkflow(a.ctx, options.ID, name, input, options, workflows.TypeThroughput, start)
	return err
}

func (a *app) printOwnerUpdate(resource, name string, input json.RawMessage) error {
	answer, err := a.updateOwner(resource, name, input)
	if err != nil {
		return err
	}
	return a.result(answer)
}

// updateOwner sends an update to the owner of a budget, and starts it where none
// runs, so that a budget can be set or paused before anybody uses it.
func (a *app) updateOwner(resource, name string, input json.RawMessage) (answer json.RawMessage, err error) {
	c, err := a.same([]string{
		"temporal", "workflow", "execute-update-with-start", "--type", workflows.TypeThroughput,
		"--task-queue", a.cli.Budgets.Owners(), "--workflow-id", workflows.ThroughputID(resource), "--id-conflict-policy", "UseExisting",
		"--input", `{"resource":"` + resource + `"}`, "--update-name", name, "--update-input", string(input),
	})
	if err != nil {
		return nil, err
	}
	start := throughputworkflow.Owners{Client: c, TaskQueue: a.cli.Budgets.Owners()}.Start(resource)
	err = a.whilePolled(workflows.ThroughputID(resource), a.cli.Budgets.Owners(), func(ctx context.Context) error {
		handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{
				WorkflowID: workflows.ThroughputID(resource), UpdateName: name, Args: []any{input},
				WaitForStage: client.WorkflowUpdateStageCompleted,
			},
		})
		if err != nil {
			return err
		}
		return handle.Get(ctx, &answer)
	})
	return answer, err
}
