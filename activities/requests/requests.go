package requests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/wire"
)

// Activities finds suspended requests and resumes them, as any client could.
type Activities struct {
	Temporal client.Client
}

// All lists the activities under their names.
func (r *Activities) All() []activities.Named {
	return []activities.Named{activities.On(wire.ListSuspended, r.ListSuspended), activities.On(wire.ResumeRequest, r.Resume)}
}

// maxSuspended bounds a list of requests, in bytes of JSON: a sweep carries it from run
// to run.
const maxSuspended = 640 << 10

// ListSuspended lists the suspended requests that are not jobs of others, in
// random order, so that two who resume meet seldom. It changes nothing.
func (r *Activities) ListSuspended(ctx context.Context, in wire.ListSuspendedInput) (*wire.Suspended, error) {
	alive, done := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer done()
	query := fmt.Sprintf(`WorkflowType = %q AND ExecutionStatus = "Running" AND %s = "SUSPENDED"`, wire.TypeRequest, wire.AttributeState)
	if in.Filter != "" {
		query += " AND (" + in.Filter + ")"
	}
	found := &wire.Suspended{IDs: []string{}}
	for next := []byte(nil); ; {
		page, err := r.Temporal.ListWorkflow(alive, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: next, PageSize: 1000})
		if err != nil {
			return nil, temporalFailure(wire.ListSuspended.Name, query, err)
		}
		for _, e := range page.GetExecutions() {
			if !IsJobOfRequest(e) {
				found.IDs = append(found.IDs, e.GetExecution().GetWorkflowId())
			}
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			break
		}
	}
	rand.Shuffle(len(found.IDs), func(a, b int) { found.IDs[a], found.IDs[b] = found.IDs[b], found.IDs[a] })
	if in.Limit > 0 && len(found.IDs) > in.Limit {
		found.IDs = found.IDs[:in.Limit]
	}
	fit := fitting(found.IDs, maxSuspended)
	found.Left = len(found.IDs) - fit
	found.IDs = found.IDs[:fit]
	return found, nil
}

// fitting is how many of the first IDs take up at most so many bytes as JSON.
func fitting(ids []string, bytes int) int {
	for i, id := range ids {
		encoded, err := json.Marshal(id)
		if bytes -= len(encoded) + 1; err != nil || bytes < 0 {
			return i
		}
	}
	return len(ids)
}

// IsJobOfRequest reports that a request is a job of another one, which suspends
// and resumes it: its ID is "<parent>/<job>/<try>".
func IsJobOfRequest(e *workflow.WorkflowExecutionInfo) bool {
	rest, isChild := strings.CutPrefix(e.GetExecution().GetWorkflowId(), e.GetParentExecution().GetWorkflowId()+"/")
	return e.GetParentExecution() != nil && isChild && strings.Count(rest, "/") == 1
}

// resumeTimeout bounds what one request may take: a bad one must not keep the
// others waiting.
const resumeTimeout = 30 * time.Second

// Resume sees that somebody can run a request's jobs, claims it, resumes it, and
// gives the claim back when it can't. It looks before it claims: a request takes only
// so many updates, and one whose workers are gone is asked again and again. A repeat
// extends the claim that an earlier attempt took: its token is the checkpoint. A
// worker that dies in between leaves a claim that its lease ends.
func (r *Activities) Resume(ctx context.Context, in wire.ResumeInput) (*wire.Resumed, error) {
	var token int64
	if _, err := activities.Checkpoint(ctx, &token); err != nil {
		return nil, activities.Invalid(wire.ResumeRequest.Name, err)
	}
	var held atomic.Int64
	held.Store(token)
	alive, done := activities.KeepAlive(ctx, activities.WorkingHeartbeat, func() any { return held.Load() })
	defer done()
	bounded, cancel := context.WithTimeout(alive, resumeTimeout)
	defer cancel()
	if became, err := r.resumable(bounded, in, token); err != nil {
		if token != 0 {
			r.unclaim(ctx, in, token)
		}
		return &wire.Resumed{Error: oneLine(err)}, nil
	} else if became != nil {
		return became, nil
	}
	var claim struct {
		Claimed bool   `json:"claimed"`
		Holder  string `json:"holder"`
		Token   int64  `json:"token"`
	}
	err := r.update(bounded, in.ID, wire.UpdateClaim, map[string]any{"holder": in.Holder, "lease": in.Lease, "token": token}, &claim)
	switch {
	case activities.TypeOf(err) == activities.TypeConflict, activities.TypeOf(err) == activities.TypeExpired:
		return r.afterRefusal(bounded, in, err), nil
	case err != nil:
		return &wire.Resumed{Error: oneLine(err)}, nil
	case !claim.Claimed:
		return &wire.Resumed{Skipped: true, Holder: claim.Holder}, nil
	}
	held.Store(claim.Token)
	activity.RecordHeartbeat(ctx, claim.Token)
	if err := r.update(bounded, in.ID, wire.UpdateResume, map[string]any{"holder": in.Holder, "token": claim.Token}, nil); err != nil {
		r.unclaim(ctx, in, claim.Token)
		return &wire.Resumed{Error: oneLine(err)}, nil
	}
	return &wire.Resumed{Resumed: true}, nil
}

// resumable reports that the request can be resumed by us: nil. Otherwise it is what
// became of it, or why it can't.
func (r *Activities) resumable(ctx context.Context, in wire.ResumeInput, token int64) (*wire.Resumed, error) {
	described, err := r.Temporal.DescribeWorkflow(ctx, in.ID, "")
	if err != nil {
		return nil, err
	}
	if err := r.polled(ctx, described.RawResponse.GetWorkflowExecutionInfo().GetTaskQueue()); err != nil {
		return nil, err // nobody would even answer
	}
	seen, err := r.look(ctx, in.ID)
	switch {
	case err != nil:
		return nil, err
	case seen.state != "SUSPENDED":
		return &wire.Resumed{Skipped: true}, nil // resumed or ended meanwhile
	case seen.holder != "" && token == 0:
		return &wire.Resumed{Skipped: true, Holder: seen.holder}, nil
	}
	for _, queue := range seen.queues {
		if err := r.polled(ctx, queue); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// afterRefusal is what became of a request that refused the claim: it was resumed or
// has ended meanwhile, or it is SUSPENDED still and takes no more claims.
func (r *Activities) afterRefusal(ctx context.Context, in wire.ResumeInput, refusal error) *wire.Resumed {
	if seen, err := r.look(ctx, in.ID); err == nil && seen.state == "SUSPENDED" {
		return &wire.Resumed{Error: oneLine(refusal)}
	}
	return &wire.Resumed{Skipped: true}
}

// unclaim gives the claim back, also when time is up for all else.
func (r *Activities) unclaim(ctx context.Context, in wire.ResumeInput, token int64) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := r.update(late, in.ID, wire.UpdateUnclaim, map[string]any{"holder": in.Holder, "token": token}, nil); err != nil {
		activity.GetLogger(ctx).Warn("claim is left to its lease", "request", in.ID, "error", err)
	}
}

// suspendedRequest is what is to be seen of a request that may be resumed.
type suspendedRequest struct {
	state  string
	holder string   // of the claim that is in force
	queues []string // of the jobs that are not COMPLETE
}

func (r *Activities) look(ctx context.Context, id string) (*suspendedRequest, error) {
	const pageSize = 1000
	var seen suspendedRequest
	known := map[string]bool{}
	for offset := 0; ; {
		var page struct {
			State string `json:"state"`
			Claim *struct {
				Holder string `json:"holder"`
			} `json:"claim"`
			TotalJobs int `json:"totalJobs"`
			Jobs      []struct {
				TaskQueue string `json:"taskQueue"`
				State     string `json:"state"`
			} `json:"jobs"`
		}
		answer, err := r.Temporal.QueryWorkflow(ctx, id, "", wire.QueryStatus, map[string]int{"offset": offset, "limit": pageSize})
		if err == nil {
			err = answer.Get(&page)
		}
		if err != nil {
			return nil, err
		}
		seen.state = page.State
		if page.Claim != nil {
			seen.holder = page.Claim.Holder
		}
		for _, j := range page.Jobs {
			if j.State != "COMPLETE" && !known[j.TaskQueue] {
				known[j.TaskQueue] = true
				seen.queues = append(seen.queues, j.TaskQueue)
			}
		}
		if offset += len(page.Jobs); len(page.Jobs) == 0 || offset >= page.TotalJobs {
			return &seen, nil
		}
	}
}

func (r *Activities) polled(ctx context.Context, queue string) error {
	polled, err := Polled(ctx, r.Temporal, queue)
	if err == nil && !polled {
		err = fmt.Errorf("no worker polls queue %s", queue)
	}
	return err
}

func (r *Activities) update(ctx context.Context, id, name string, input, answer any) error {
	handle, err := r.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: []any{input}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if answer == nil {
		answer = &raw
	}
	return handle.Get(ctx, answer)
}

// temporalFailure classifies an error of the Temporal server.
func temporalFailure(operation, target string, err error) error {
	errType := activities.TypeUnavailable
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		errType = activities.TypeInvalidInput
	}
	return activities.Fail(errType, activities.Failure{ErrorDetails: activities.ErrorDetails{Operation: operation, Target: target}, Message: oneLine(err)})
}

func oneLine(err error) string { return activities.Redact(err.Error()) }
