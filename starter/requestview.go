package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"sluice/activities/requests"
	"sluice/internal/duration"
	"sluice/internal/jobchain"
	"sluice/workflows"
	"sluice/workflows/request"
)

type requestStatusCmd struct {
	requestID
	tableFlag
	Offset int `help:"First job to show."`
	Limit  int `default:"500" help:"Jobs to show."`
}

// Run prints the status document. Jobs that wait for a worker say so, and when
// none polls their task queue, which the workflow itself can't know.
func (r requestStatusCmd) Run(a *app) error {
	seen, err := a.seeStatus(r.ID, map[string]int{"offset": r.Offset, "limit": r.Limit})
	if err != nil {
		return err
	}
	var s request.Status
	if err := json.Unmarshal(seen.status, &s); err != nil {
		return err
	}
	observer, err := a.observer()
	if err != nil {
		return err
	}
	closed := closedAs(seen.described.GetWorkflowExecutionInfo().GetStatus())
	if closed == "" {
		observer.Jobs(a.ctx, &s, seen.described.GetPendingActivities())
	}
	err = a.showStatus(r.tableFlag, seen, s)
	switch {
	case closed == "" || s.State == jobchain.Complete:
		return err
	case requestAlive(s.State):
		return failed("the workflow was closed from outside: %s", closed)
	default:
		return exit{exitFailed, ""}
	}
}

type requestLogCmd struct {
	requestID
	tableFlag
	Job    string `help:"Only this job's tries."`
	Offset int    `help:"First entry to show."`
	Limit  int    `default:"500" help:"Entries to show."`
}

func (r requestLogCmd) Run(a *app) error {
	raw, err := a.query(r.ID, workflows.QueryLog, map[string]any{"job": r.Job, "offset": r.Offset, "limit": r.Limit})
	if err != nil {
		return err
	}
	return a.rows(r.tableFlag, raw)
}

type requestListCmd struct {
	tableFlag
	State     []string          `help:"Only these states (RUNNING, SUSPENDED, COMPLETE, FAIL, STOPPED, or ALIVE for the first two)."`
	Type      string            `help:"Only requests of this type."`
	Query     string            `help:"An extra clause of the visibility query." placeholder:"QUERY"`
	OlderThan duration.Duration `name:"older-than" help:"Only requests started longer ago than this." placeholder:"1h"`
	Jobs      bool              `help:"Also requests that are jobs of others."`
	Limit     int               `default:"20" help:"Requests to list at most."`
}

// listed is a request in the list.
type listed struct {
	ID           string     `json:"id"`
	RunID        string     `json:"runId"`
	Type         string     `json:"type"`
	State        string     `json:"state"`
	Status       string     `json:"status"` // Temporal's
	StartedAt    time.Time  `json:"startedAt"`
	ClosedAt     *time.Time `json:"closedAt"`
	Age          string     `json:"age"`
	TotalJobs    *int       `json:"totalJobs"` // null where no worker answers
	FinishedJobs *int       `json:"finishedJobs"`
	Reason       string     `json:"reason,omitempty"`
}

// progressPatience bounds how long a list waits for workers to tell progress.
const progressPatience = 10 * time.Second

func (r requestListCmd) Run(a *app) error {
	query := r.query(time.Now())
	c, err := a.same([]string{"temporal", "workflow", "list", "--query", query, "--limit", fmt.Sprint(r.Limit)})
	if err != nil {
		return err
	}
	if err := a.needSetup(c); err != nil {
		return err
	}
	list := []*listed{}
	for next := []byte(nil); len(list) < r.Limit; {
		page, err := c.ListWorkflow(a.ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: next, PageSize: int32(min(r.Limit, 1000))})
		if err != nil {
			return err
		}
		for _, e := range page.GetExecutions() {
			if (r.Jobs || !requests.IsJobOfRequest(e)) && len(list) < r.Limit {
				list = append(list, listedOf(e))
			}
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			break
		}
	}
	a.addProgress(list)
	return a.rows(r.tableFlag, list)
}

func (r requestListCmd) query(now time.Time) string {
	clauses := []string{`WorkflowType = "` + workflows.TypeRequest + `"`}
	var states []string
	for _, s := range r.State {
		if s = strings.ToUpper(s); s == "ALIVE" {
			states = append(states, string(jobchain.Running), string(jobchain.Suspended))
			continue
		}
		states = append(states, s)
	}
	if len(states) > 0 {
		clauses = append(clauses, `SluiceState IN ("`+strings.Join(states, `", "`)+`")`)
	}
	if r.Type != "" {
		clauses = append(clauses, fmt.Sprintf("SluiceType = %q", r.Type))
	}
	if r.OlderThan > 0 {
		clauses = append(clauses, `StartTime < "`+now.Add(-r.OlderThan.Std()).UTC().Format(time.RFC3339)+`"`)
	}
	if r.Query != "" {
		clauses = append(clauses, "("+r.Query+")")
	}
	return strings.Join(clauses, " AND ")
}

func listedOf(e *workflow.WorkflowExecutionInfo) *listed {
	l := &listed{ID: e.GetExecution().GetWorkflowId(), RunID: e.GetExecution().GetRunId(), StartedAt: e.GetStartTime().AsTime(),
		Status: e.GetStatus().String(), Age: duration.Duration(time.Since(e.GetStartTime().AsTime()).Round(time.Second)).String()}
	if e.GetCloseTime() != nil && e.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		closed := e.GetCloseTime().AsTime()
		l.ClosedAt = &closed
	}
	for name, to := range map[string]*string{workflows.AttributeState.GetName(): &l.State, workflows.AttributeType.GetName(): &l.Type} {
		if payload := e.GetSearchAttributes().GetIndexedFields()[name]; payload != nil {
			_ = converter.GetDefaultDataConverter().FromPayload(payload, to) // one that can't be read is shown as empty
		}
	}
	return l
}

// addProgress asks the requests themselves; what does not answer in time is left
// unknown.
func (a *app) addProgress(list []*listed) {
	ctx, cancel := context.WithTimeout(a.ctx, progressPatience)
	defer cancel()
	slots := make(chan struct{}, manyParallel)
	var all sync.WaitGroup
	for _, l := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			answer, err := a.connected.QueryWorkflow(ctx, l.ID, l.RunID, workflows.QueryStatus, map[string]int{"limit": 0})
			var s request.Status
			if err != nil || answer.Get(&s) != nil {
				return
			}
			l.TotalJobs, l.FinishedJobs, l.Reason = &s.TotalJobs, &s.FinishedJobs, s.Reason
		})
	}
	all.Wait()
}

// writeFile writes a document for a person to read.
func writeFile(name string, raw json.RawMessage) error {
	indented, err := json.MarshalIndent(raw, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(indented, '\n'), 0o644)
}
