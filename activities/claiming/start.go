package claiming

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// startState is what became of the start of a Task.
type startState int

const (
	startFailed  startState = iota // it did not start: the message is kept
	startUnsure                    // it may have started: the message is kept, the slot too
	startDone                      // it runs, and is ours
	startOther                     // it was started before, and is counted elsewhere or not ours
	startBad                       // it can never be started
	startRefused                   // Temporal refuses what the claimer was set to, whatever the message
	startBack                      // not started since the claimer was told to stop: handed back
)

// startTimeout bounds a start. It is below the heartbeat timeout, and a start
// follows a heartbeat at once, so an attempt that was given up starts nothing.
const startTimeout = 8 * time.Second

// startAll records the tasks that are about to start, starts them, and settles
// their messages. It returns how many slots they take.
func (p *poller) startAll(ctx context.Context, claimed []*candidate) int {
	if len(claimed) == 0 {
		return 0
	}
	if p.stopped(ctx) {
		inParallel(claimed, func(c *candidate) { p.handBack(ctx, c) })
		return 0
	}
	p.noteTasks(claimed)
	if err := p.intend(ctx); err != nil {
		inParallel(claimed, func(c *candidate) {
			p.forgetTask(c.taskID())
			p.keep(ctx, c.held, "recording it: "+activities.Redact(err.Error()))
		})
		return 0
	}
	inParallel(claimed, func(c *candidate) {
		var err error
		c.state, err = p.start(ctx, c)
		p.settleStart(ctx, c, err)
	})
	slots := 0
	for _, c := range claimed {
		if !c.known && (c.state == startDone || c.state == startUnsure) {
			slots++
		}
	}
	return slots
}

// noteTasks enters the tasks that are about to start.
func (p *poller) noteTasks(claimed []*candidate) {
	now := time.Now().UTC()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active = now
	for _, c := range claimed {
		if c.known = p.task(c.taskID()) != nil; c.known {
			continue
		}
		p.tasks = append(p.tasks, wire.OpenTask{Since: now, StartedTask: wire.StartedTask{
			TaskID: c.message.TaskID, RunID: c.runID, StartedAt: now, TakenUntil: c.lease.TakenUntil.UTC()}})
	}
}

// task finds an unreported task; p.mu is held.
func (p *poller) task(id string) *wire.OpenTask {
	for i := range p.tasks {
		if p.tasks[i].ID() == id {
			return &p.tasks[i]
		}
	}
	return nil
}

func (c *candidate) taskID() string { return wire.TaskID(c.message.TaskID, c.runID) }

// stopped asks once more whether to start: a claim may have taken long, and a
// task that is claimed after stop is handed back. Who can't be asked changes
// nothing.
func (p *poller) stopped(ctx context.Context) bool {
	if !p.in.Spec.Claim.Used() {
		return false
	}
	control, err := p.allowed(ctx)
	return err == nil && control.State == wire.ClaimStopped
}

// intend records what is about to start. A worker that stops still starts what
// it has claimed; an attempt that was given up does not.
func (p *poller) intend(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errFenced) {
		return errFenced
	}
	return p.beat(context.WithoutCancel(ctx))
}

// settleStart does what the outcome of a start asks for.
func (p *poller) settleStart(ctx context.Context, c *candidate, err error) {
	id := c.taskID()
	switch c.state {
	case startDone:
		p.mu.Lock()
		if t := p.task(id); t != nil {
			t.Sure = true
		}
		p.mu.Unlock()
		p.count("sluice_claim_started", c.from.Name())
		p.deleteSoon(ctx, c.held)
	case startOther:
		p.forgetTask(id)
		p.deleteSoon(ctx, c.held)
	case startUnsure:
		p.keep(ctx, c.held, err.Error())
	case startBad:
		p.forgetTask(id)
		p.refuse(ctx, c, err)
	case startRefused:
		p.forgetTask(id)
		p.settingsRefused(ctx, c, err)
	default:
		p.forgetTask(id)
		p.noteError(c.from.Name(), fmt.Errorf("Task.Start %s: %w", id, err))
		p.keep(ctx, c.held, err.Error())
	}
}

// refuse deals with a task that Temporal will not take, such as one whose
// payload is over the limit: it is told to the service, or is poison.
func (p *poller) refuse(ctx context.Context, c *candidate, err error) {
	if p.in.Spec.Claim.Used() {
		p.report(ctx, c, wire.ReasonMalformedPayload)
		p.deleteSoon(ctx, c.held)
		return
	}
	p.poison(ctx, c.held, "it cannot be started: "+err.Error())
}

// settingsRefused keeps the message of a task that Temporal takes with no payload
// either: the claimer's own settings are at fault, and it claims nothing while they
// are. A run that was claimed goes back to the service, which has it done elsewhere.
func (p *poller) settingsRefused(ctx context.Context, c *candidate, err error) {
	p.noteError(c.from.Name(), fmt.Errorf("claiming has stopped, since Temporal refuses the claimer's own settings; every message stays: %w", err))
	if p.in.Spec.Claim.Used() {
		p.report(ctx, c, wire.ReasonWorkerShutdown)
	}
	p.keep(ctx, c.held, err.Error())
}

// handBack returns a claim that came after stop.
func (p *poller) handBack(ctx context.Context, c *candidate) {
	c.state = startBack
	p.report(ctx, c, wire.ReasonWorkerShutdown)
	p.deleteSoon(ctx, c.held)
}

// report tells the service of an exception, a few times if need be; a claim that
// could not be handed back runs out by itself.
func (p *poller) report(ctx context.Context, c *candidate, reason string) {
	ctx = context.WithoutCancel(ctx)
	for attempt := 1; attempt <= 3; attempt++ {
		answer := p.Service.Resolve(ctx, p.in.Spec.Claim.Service, c.message.TaskID, c.runID, wire.Outcome{State: wire.OutcomeException, Reason: reason})
		if taskclaim.Resolved(answer.Status) {
			return
		}
		p.log.Warn("exception could not be reported", "taskId", c.message.TaskID, "runId", c.runID, "reason", reason, "answer", answer.String())
		p.sleep(ctx, time.Second)
	}
}

func (p *poller) forgetTask(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.tasks {
		if p.tasks[i].ID() == id {
			p.tasks = append(p.tasks[:i:i], p.tasks[i+1:]...)
			return
		}
	}
}

// start starts the Task. Its ID is the claim: of any number of deliveries one
// starts it.
func (p *poller) start(ctx context.Context, c *candidate) (startState, error) {
	started := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	_, err := p.Temporal.ExecuteWorkflow(ctx, p.startOptions(c), wire.TypeTask, p.taskInput(c))
	p.meter.Timer("sluice_claim_start_latency").Record(time.Since(started))
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	var invalid *serviceerror.InvalidArgument
	switch {
	case err == nil:
		return startDone, nil
	case errors.As(err, &exists):
		return p.startedBefore(ctx, c)
	case errors.As(err, &invalid):
		state := startRefused
		if len(c.payload) > largePayload {
			state = startBad
		}
		return state, errors.New(activities.Redact(invalid.Error()))
	default:
		err = errors.New(activities.Redact(err.Error()))
		return p.afterFault(ctx, c, err)
	}
}

// largePayload is the size from which a payload may be what Temporal refuses: its
// servers take at least this much. All else of a message that goes into a start is
// bounded, so that a smaller one is refused for what the claimer adds to it.
const largePayload = 128 << 10

// afterFault decides about a start whose answer was lost.
func (p *poller) afterFault(ctx context.Context, c *candidate, err error) (startState, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	switch _, state, lookErr := p.look(ctx, c.taskID()); {
	case lookErr == nil:
		return state, nil
	default:
		return startUnsure, err // even "not found" may change: the start may be under way
	}
}

func (p *poller) startOptions(c *candidate) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                                       c.taskID(),
		TaskQueue:                                p.in.TaskQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true, // its first workflow task comes with the answer
		Memo:                                     map[string]any{memoClaimer: p.in.Claimer},
		TypedSearchAttributes:                    activities.StartAttributes(wire.TaskRunning, wire.TypeTask, c.from.Name()),
		StaticSummary:                            fmt.Sprintf("task %s, run %d, from queue %s", c.message.TaskID, c.runID, c.from.Name()),
		Priority:                                 temporal.Priority{FairnessKey: p.in.Spec.FairnessKey},
	}
}

// memoClaimer is the memo field of a Task that names its claimer.
const memoClaimer = "claimer"

func (p *poller) taskInput(c *candidate) wire.TaskInput {
	in := wire.TaskInput{
		TaskID: c.message.TaskID, RunID: c.runID, Payload: json.RawMessage(c.payload), Queue: c.from.Name(),
		Run: p.in.Spec.Run, Claimer: p.in.Claimer, FairnessKey: p.in.Spec.FairnessKey,
	}
	if spec := p.in.Spec.Claim; spec.Used() {
		in.Claim = &wire.TaskClaim{Service: spec.Service, ReclaimBefore: duration.Duration(spec.ReclaimBefore), Lease: c.lease}
	}
	return in
}

// startedBefore decides about a Task that exists: it is ours and not counted
// anywhere when an attempt that was given up started it after all.
func (p *poller) startedBefore(ctx context.Context, c *candidate) (startState, error) {
	id := c.taskID()
	running, state, err := p.look(ctx, id)
	if err != nil {
		return startUnsure, errors.New(activities.Redact(err.Error()))
	}
	if state == startDone && c.known {
		return startDone, nil // the earlier try has started it
	}
	if !running || state == startOther {
		return startOther, nil
	}
	control, err := p.ask(ctx, true)
	if err != nil {
		return startUnsure, errors.New(activities.Redact(err.Error()))
	}
	counted := slices.Contains(control.Recent, id) || slices.ContainsFunc(control.Tasks, func(t wire.StartedTask) bool { return t.ID() == id })
	if counted {
		return startOther, nil
	}
	return startDone, nil
}

// look tells whether a Task runs, and whether it is ours (startDone) or not.
func (p *poller) look(ctx context.Context, id string) (running bool, state startState, err error) {
	described, err := p.describe(ctx, id)
	if err != nil {
		return false, startFailed, err
	}
	info := described.RawResponse.GetWorkflowExecutionInfo()
	running = info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	var claimer wire.ClaimerRef
	if payload := info.GetMemo().GetFields()[memoClaimer]; payload != nil {
		if err := p.converter().FromPayload(payload, &claimer); err != nil {
			return running, startOther, nil // of another key or kind: not ours
		}
	}
	if claimer == p.in.Claimer {
		return running, startDone, nil
	}
	return running, startOther, nil
}

func (p *poller) describe(ctx context.Context, id string) (*client.WorkflowExecutionDescription, error) {
	return p.Temporal.DescribeWorkflow(ctx, id, "")
}

func (p *poller) converter() converter.DataConverter {
	if p.Converter != nil {
		return p.Converter
	}
	return converter.GetDefaultDataConverter()
}
