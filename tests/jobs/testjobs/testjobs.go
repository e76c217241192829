// Package testjobs has the activities and workflows that tests run as jobs of
// requests. Each job does what its input says: work, fail, ignore being asked to
// stop, leave checkpoints, return much. Dispatches can be written to a file that
// survives the process, so that a test counts them whatever it killed.
package testjobs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/workflows/request"
)

// Names under which the jobs are registered.
const (
	Job   = "Test.Job"
	Child = "TestChild"

	ChildGo = "go" // the update that a child waits for
)

// Input is what a job is to do, in this order.
type Input struct {
	Takes        duration.Duration `json:"takes,omitzero"`
	Until        string            `json:"until,omitempty"`        // in place of takes: works on until this file is there
	Step         duration.Duration `json:"step,omitzero"`          // between two looks at whether to stop; 20 ms
	Checkpoints  bool              `json:"checkpoints,omitempty"`  // heartbeats its step, goes on from it, and returns where it began
	IgnoreCancel bool              `json:"ignoreCancel,omitempty"` // works on when asked to stop
	Plain        bool              `json:"plain,omitempty"`        // ends with ctx.Err(), as a careless job does
	Kill         bool              `json:"kill,omitempty"`         // takes its worker with it
	FailTries    int               `json:"failTries,omitempty"`    // tries up to this number fail
	FailFirst    int               `json:"failFirst,omitempty"`    // so many dispatches fail, whatever their number
	Type         string            `json:"type,omitempty"`         // of the failure
	Final        bool              `json:"final,omitempty"`        // the failure is not retryable
	Delay        duration.Duration `json:"delay,omitzero"`         // the failure's NextRetryDelay
	Bytes        int               `json:"bytes,omitempty"`        // the output is a string of this length
	Output       json.RawMessage   `json:"output,omitempty"`
	Padding      string            `json:"padding,omitempty"` // makes the input large

	Ends  string `json:"ends,omitempty"`  // how a try's first dispatch ends; see EndsWell and those below it
	Asked bool   `json:"asked,omitempty"` // it does so once it is asked to stop
	Held  bool   `json:"held,omitempty"`  // and once the test lets it
}

// Jobs is what the jobs of one process share.
type Jobs struct {
	// Log is a file to which every dispatch is appended: "start <workflow>
	// <activity ID>" and "end <workflow> <activity ID> ok|failed".
	Log string

	mu    sync.Mutex
	count map[string]int           // by workflow and try
	gates map[string]chan struct{} // by workflow and try: closed when it may go on
}

// Register adds the jobs to a worker.
func (j *Jobs) Register(w worker.Registry) {
	w.RegisterActivityWithOptions(j.Run, activity.RegisterOptions{Name: Job})
	w.RegisterWorkflowWithOptions(RunChild, workflow.RegisterOptions{Name: Child})
}

// Dispatches is how often this process was given the try, under whatever activity ID.
func (j *Jobs) Dispatches(workflowID, try string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.count[workflowID+" "+try]
}

// Run is the activity.
func (j *Jobs) Run(ctx context.Context, in Input) (out json.RawMessage, err error) {
	info := activity.GetInfo(ctx)
	name := info.WorkflowExecution.ID + " " + info.ActivityID
	dispatch := j.begin(name, keyOf(ctx))
	defer func() { j.end(name, err) }()
	if in.Ends != "" {
		return j.endAs(ctx, in, dispatch)
	}
	first, err := work(ctx, in)
	if err != nil {
		return nil, err
	}
	if in.Kill {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if dispatch <= in.FailFirst || number(info.ActivityID) <= in.FailTries {
		return nil, temporal.NewApplicationErrorWithOptions("told to fail", in.Type,
			temporal.ApplicationErrorOptions{NonRetryable: in.Final, NextRetryDelay: in.Delay.Std()})
	}
	switch {
	case in.Bytes > 0:
		return json.Marshal(strings.Repeat("x", in.Bytes-2))
	case in.Checkpoints:
		return json.Marshal(map[string]int{"from": first})
	case len(in.Output) > 0:
		return in.Output, nil
	}
	return json.RawMessage("null"), nil
}

// usualStep is how long a job works between two looks at whether it is to stop.
const usualStep = 20 * time.Millisecond

func work(ctx context.Context, in Input) (first int, err error) {
	if in.Checkpoints {
		if _, err := activities.Checkpoint(ctx, &first); err != nil {
			return 0, err
		}
	}
	step := in.Step.Std()
	if step == 0 {
		step = usualStep
	}
	for n := first; !in.over(n, step); n++ {
		if in.Checkpoints {
			activity.RecordHeartbeat(ctx, n)
		} else {
			activity.RecordHeartbeat(ctx)
		}
		stopped := activity.GetWorkerStopChannel(ctx)
		done := ctx.Done()
		if in.IgnoreCancel {
			done, stopped = nil, nil
		}
		select {
		case <-time.After(step):
		case <-stopped:
			return first, activities.Fail(activities.TypeWorkerStopping, activities.Failure{Message: "worker stopping", Checkpoint: n})
		case <-done:
			if in.Plain {
				return first, ctx.Err()
			}
			return first, temporal.NewCanceledError(n)
		}
	}
	return first, nil
}

// over says that the job has done its work after n steps.
func (in *Input) over(n int, step time.Duration) bool {
	if in.Until == "" {
		return n >= int(in.Takes.Std()/step)
	}
	_, err := os.Stat(in.Until)
	return err == nil
}

// keyOf names the try: all its dispatches have it.
func keyOf(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID + " " + request.TryOfActivity(info.ActivityID)
}

func (j *Jobs) begin(name, key string) (dispatch int) {
	j.mu.Lock()
	if j.count == nil {
		j.count = map[string]int{}
	}
	j.count[key]++
	dispatch = j.count[key]
	j.mu.Unlock()
	j.write("start " + name)
	return dispatch
}

func (j *Jobs) end(name string, err error) {
	if err != nil {
		j.write("end " + name + " failed")
		return
	}
	j.write("end " + name + " ok")
}

func (j *Jobs) write(line string) {
	if j.Log == "" {
		return
	}
	f, err := os.OpenFile(j.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// number is the try's number in an activity ID "<job>/<try>" or "<job>/<try>/<n>".
func number(activityID string) int {
	_, try, _ := strings.Cut(request.TryOfActivity(activityID), "/")
	n, err := strconv.Atoi(try)
	if err != nil {
		return 0
	}
	return n
}

// ChildInput is what a child workflow is to do.
type ChildInput struct {
	Takes   duration.Duration `json:"takes"`
	Rolls   int               `json:"rolls"` // continues as new so often, each time after Takes
	Fail    bool              `json:"fail"`
	Ignores bool              `json:"ignores"` // goes on when cancelled
	Waits   bool              `json:"waits"`   // for the update ChildGo, in place of Takes
	Fails   bool              `json:"fails"`   // when cancelled, in place of ending canceled
	Output  json.RawMessage   `json:"output"`
}

// RunChild is the child workflow.
func RunChild(ctx workflow.Context, in ChildInput) (json.RawMessage, error) {
	wait := ctx
	if in.Ignores {
		wait, _ = workflow.NewDisconnectedContext(ctx)
	}
	if in.Waits {
		if err := waitToGo(ctx, wait); err != nil && in.Fails {
			return nil, temporal.NewApplicationError("told to fail when cancelled", "ChildFailed")
		} else if err != nil {
			return nil, err
		}
	} else if err := workflow.Sleep(wait, in.Takes.Std()); err != nil {
		return nil, err
	}
	if err := wait.Err(); err != nil { // came as it woke; another run would not hear of it
		return nil, err
	}
	if in.Rolls > 0 {
		in.Rolls--
		return nil, workflow.NewContinueAsNewError(ctx, Child, in)
	}
	if in.Fail {
		return nil, temporal.NewApplicationError("told to fail", "ChildFailed")
	}
	return in.Output, nil
}

// waitToGo waits for the update ChildGo.
func waitToGo(ctx, wait workflow.Context) error {
	told := false
	err := workflow.SetUpdateHandler(ctx, ChildGo, func(workflow.Context) error {
		told = true
		return nil
	})
	if err != nil {
		return err
	}
	return workflow.Await(wait, func() bool { return told })
}
