package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"go.temporal.io/sdk/client"

	"sluice/internal/duration"
	"sluice/internal/wire"
	"sluice/workflows"
	"sluice/workflows/claimtasks"
)

// claimCmd is the group of task claiming.
type claimCmd struct {
	Run      claimRunCmd      `cmd:"" help:"Start a claimer."`
	Enqueue  claimEnqueueCmd  `cmd:"" help:"Put tasks on a queue."`
	Capacity claimCapacityCmd `cmd:"" help:"Change how many tasks may run at once."`
	Drain    claimDrainCmd    `cmd:"" help:"Claim no more, wait for the running tasks, then end."`
	Stop     claimStopCmd     `cmd:"" help:"Claim no more, tell the running tasks to stop, then end."`
	Status   claimStatusCmd   `cmd:"" help:"Show what a claimer does."`
	Poison   claimPoisonCmd   `cmd:"" help:"Look after poisoned messages."`
}

type claimRunCmd struct {
	fileFlag
	waitFlag
	Name              string            `arg:"" optional:"" help:"Name of the claimer; its workflow is claim/NAME. Default: the first queue's name."`
	ID                string            `help:"The same as its workflow ID." placeholder:"claim/NAME"`
	Queue             []string          `help:"Queues in order of priority." sep:","`
	Capacity          int               `help:"Tasks running at once (10)."`
	MaxTasks          int64             `help:"Claims in all; then it ends (no limit)."`
	Workflow          string            `help:"Workflow that does a task's work (Request)."`
	RunTaskQueue      string            `help:"Its task queue (the claimer's own)." name:"run-task-queue"`
	VisibilityTimeout duration.Duration `help:"How long a message is invisible while it is dealt with (5m)." placeholder:"DURATION"`
	MaxDequeueCount   int64             `help:"Deliveries from which a message is poison (15)."`
}

func (r claimRunCmd) Run(a *app) error {
	queues := make([]wire.QueueRef, len(r.Queue))
	for i, q := range r.Queue {
		queues[i].Name = q
	}
	run := map[string]string{}
	for name, value := range map[string]string{"workflow": r.Workflow, "taskQueue": r.RunTaskQueue} {
		if value != "" {
			run[name] = value
		}
	}
	visibility := ""
	if r.VisibilityTimeout != 0 {
		visibility = r.VisibilityTimeout.String()
	}
	input, err := a.document(r.fileFlag,
		field{"queues", queues}, field{"capacity", r.Capacity}, field{"maxTasks", r.MaxTasks}, field{"run", run},
		field{"visibilityTimeout", visibility}, field{"maxDequeueCount", r.MaxDequeueCount})
	if err != nil {
		return err
	}
	name, err := r.name(input)
	if err != nil {
		return err
	}
	return a.startAndWait(launch{
		workflowType: workflows.TypeClaimTasks, id: workflows.ClaimID(name), input: input, target: claimtasks.Target(input),
		options: client.StartWorkflowOptions{StaticSummary: "Claims tasks as " + name},
	}, r.Wait, claimProgress, judgeTasks)
}

// judgeTasks fails where tasks did not complete, which is no error of the claimer.
func judgeTasks(result json.RawMessage) error {
	var status claimtasks.Status
	if err := json.Unmarshal(result, &status); err != nil {
		return err
	}
	if status.Failed > 0 {
		return failed("%d of %s did not complete", status.Failed, counted(int(status.Claimed), "task"))
	}
	return nil
}

// name is what was given, or the first queue of the document.
func (r claimRunCmd) name(input json.RawMessage) (string, error) {
	if r.Name != "" && r.ID != "" {
		return "", usage("give the claimer's name or --id, not both")
	}
	if name := cmp.Or(r.Name, r.ID); name != "" {
		return strings.TrimPrefix(name, workflows.ClaimID("")), nil
	}
	var document struct {
		Queues []struct {
			Name string `json:"name"`
		} `json:"queues"`
	}
	if err := json.Unmarshal(input, &document); err != nil || len(document.Queues) == 0 || document.Queues[0].Name == "" {
		return "", usage("give the claimer a name: claim run NAME")
	}
	return document.Queues[0].Name, nil
}

// claimProgress tells the finished of the claimed tasks.
func claimProgress(s sight) (int64, int64, string) {
	var status claimtasks.Status
	if json.Unmarshal(s.status, &status) != nil {
		return 0, 0, "starting"
	}
	return status.Finished, status.Claimed, fmt.Sprintf("%s, %d running, finished", status.State, status.Running)
}

// claimName is the name of a running claimer, with or without "claim/".
type claimName struct {
	Name string `arg:"" help:"Name of the claimer, or its workflow ID claim/NAME."`
}

func (n claimName) id() string {
	return workflows.ClaimID(strings.TrimPrefix(n.Name, workflows.ClaimID("")))
}

type claimCapacityCmd struct {
	claimName
	Capacity int `arg:"" help:"Tasks running at once, 1 to 1000."`
}

func (c claimCapacityCmd) Run(a *app) error {
	return a.printUpdate(c.id(), workflows.UpdateCapacity, toDocument(map[string]any{"capacity": c.Capacity}))
}

type claimDrainCmd struct {
	claimName
	Wait duration.Duration `help:"How long to wait for the answer, at most 1m." default:"30s" placeholder:"DURATION"`
}

func (d claimDrainCmd) Run(a *app) error {
	return a.printUpdate(d.id(), workflows.UpdateDrain, toDocument(map[string]any{"wait": d.Wait}))
}

type claimStopCmd struct {
	claimName
	Reason string `help:"Shown with the claimer and its tasks."`
}

func (s claimStopCmd) Run(a *app) error {
	return a.printUpdate(s.id(), workflows.UpdateStop, toDocument(map[string]any{"reason": s.Reason}))
}

// toDocument is the JSON of a document made here.
func toDocument(v map[string]any) json.RawMessage {
	raw, _ := json.Marshal(v) // strings, numbers and durations never fail
	return raw
}

type claimStatusCmd struct {
	claimName
	tableFlag
}

// Run shows the status with what the polling activity has not reported yet.
func (s claimStatusCmd) Run(a *app) error {
	seen, err := a.seeStatus(s.id())
	if err != nil {
		return err
	}
	var status claimtasks.Status
	if err := json.Unmarshal(seen.status, &status); err != nil {
		return err
	}
	return a.showStatus(s.tableFlag, seen, a.liveClaims(s.id(), seen, status))
}

func (a *app) liveClaims(id string, seen sight, status claimtasks.Status) claimtasks.Status {
	var control wire.ClaimControl
	answer, err := a.connected.QueryWorkflow(a.ctx, id, "", wire.QueryClaimControl, wire.ClaimControlQuery{Tasks: true})
	if err != nil || answer.Get(&control) != nil {
		return status
	}
	var memory wire.PollMemory
	if !seen.heartbeat(wire.ClaimPoll.Name, &memory) {
		return status
	}
	return status.Live(memory, control)
}
