package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"go.temporal.io/api/workflowservice/v1"

	"sluice/activities/requests"
	"sluice/internal/jobchain"
	"sluice/starter/internal/equivalent"
	"sluice/workflows"
)

// manyFlags choose one request or, by a query, many.
type manyFlags struct {
	ID    string `arg:"" optional:"" help:"Workflow ID of the request."`
	Query string `help:"Visibility query for many running requests, such as SluiceType=\"report\"." placeholder:"QUERY"`
}

type requestSuspendCmd struct {
	manyFlags
	Reason string `help:"Why; shown and kept."`
	Grace  string `help:"How long running jobs are waited for." placeholder:"10s"`
	TTL    string `name:"ttl" help:"How long this suspension may last; 0s for ever. By default the request's suspendTTL."`
	Wait   string `help:"How long the answer may wait for the jobs to stop, at most 1m." placeholder:"30s"`
}

func (r requestSuspendCmd) Run(a *app) error {
	return a.sendMany(r.manyFlags, workflows.UpdateSuspend,
		field{"reason", r.Reason}, field{"grace", r.Grace}, field{"ttl", r.TTL}, field{"wait", r.Wait})
}

type requestResumeCmd struct {
	manyFlags
	Holder string `help:"Holder of the claim under which to resume."`
	Token  int64  `help:"Token of that claim."`
}

func (r requestResumeCmd) Run(a *app) error {
	return a.sendMany(r.manyFlags, workflows.UpdateResume, field{"holder", r.Holder}, field{"token", r.Token})
}

type requestStopCmd struct {
	manyFlags
	Reason string `help:"Why; shown and kept."`
	Grace  string `help:"How long running jobs are waited for." placeholder:"10s"`
}

func (r requestStopCmd) Run(a *app) error {
	return a.sendMany(r.manyFlags, workflows.UpdateStop, field{"reason", r.Reason}, field{"grace", r.Grace})
}

// manyParallel is how many requests are told something at once: enough to keep
// a server busy; with more of them they get in each other's way.
const manyParallel = 16

// sendMany sends an update to one request, or to all running ones that the query
// finds. Of many, none is waited for: suspend answers when it is accepted.
func (a *app) sendMany(m manyFlags, name string, given ...field) error {
	if (m.ID == "") == (m.Query == "") {
		return usage("give either the ID of a request or --query")
	}
	input, err := overlay(json.RawMessage("{}"), given)
	if err != nil {
		return err
	}
	if m.ID != "" {
		return a.printRequestUpdate(m.ID, name, input)
	}
	if name == workflows.UpdateSuspend {
		if input, err = withDefault(input, "wait", "0s"); err != nil {
			return err
		}
	}
	query := fmt.Sprintf(`WorkflowType = "%s" AND ExecutionStatus = "Running" AND (%s)`, workflows.TypeRequest, m.Query)
	if _, err := a.same(equivalent.WithInput([]string{"temporal", "workflow", "signal", "--query", query, "--name", name, "--yes", "--reason", "starter"}, input)); err != nil {
		return err
	}
	ids, err := a.findRequests(query)
	if err != nil {
		return err
	}
	return a.tellMany(ids, name, input)
}

func withDefault(raw json.RawMessage, name string, value any) (json.RawMessage, error) {
	members := map[string]any{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if _, given := members[name]; !given {
		members[name] = value
	}
	return json.Marshal(members)
}

// findRequests lists the requests that a query finds and that are not jobs of
// others, which their requests tell themselves.
func (a *app) findRequests(query string) ([]string, error) {
	c, err := a.temporal()
	if err != nil {
		return nil, err
	}
	if err := a.needSetup(c); err != nil {
		return nil, err
	}
	var ids []string
	for next := []byte(nil); ; {
		page, err := c.ListWorkflow(a.ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: next, PageSize: 1000})
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			if !requests.IsJobOfRequest(e) {
				ids = append(ids, e.GetExecution().GetWorkflowId())
			}
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			return ids, nil
		}
	}
}

// manyResult tells which of many requests took the message.
type manyResult struct {
	Done   []string     `json:"done"`
	Failed []manyFailed `json:"failed"`
}

type manyFailed struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

func (a *app) tellMany(ids []string, name string, input json.RawMessage) error {
	told := make([]error, len(ids))
	quiet := *a
	quiet.cli.PrintCLI = false // the one signal says it all
	slots := make(chan struct{}, manyParallel)
	var all sync.WaitGroup
	for i, id := range ids {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			_, told[i] = quiet.updateRequest(id, name, input)
		})
	}
	all.Wait()
	result := manyResult{Done: []string{}, Failed: []manyFailed{}}
	for i, id := range ids {
		if told[i] != nil {
			result.Failed = append(result.Failed, manyFailed{id, describe(told[i])})
			continue
		}
		result.Done = append(result.Done, id)
	}
	slices.Sort(result.Done)
	if err := a.result(result); err != nil {
		return err
	}
	if len(result.Failed) > 0 {
		return failed("%s: %d of %d requests refused", name, len(result.Failed), len(ids))
	}
	return nil
}

// alive reports that a request in this state has not ended.
func requestAlive(s jobchain.State) bool { return s == jobchain.Running || s == jobchain.Suspended }
