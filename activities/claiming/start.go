package claiming

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/activities/taskservice"
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

// starter claims tasks at the task service, starts them, and looks again where it is
// not known what became of a start.
type starter struct {
	spec      wire.PollSpec
	claimer   wire.ClaimerRef
	taskQueue string // of the tasks
	temporal  workflows
	service   *taskservice.Client
	payloads  converter.DataConverter // nil is the default one
	books     *ledger
	inbox     *inbox
	log       logger
	meter     client.MetricsHandler

	beat    func(ctx context.Context) error                                  // records the books with the server
	allowed func(ctx context.Context) (wire.ClaimControl, error)             // what the workflow allows
	ask     func(ctx context.Context, tasks bool) (wire.ClaimControl, error) // asks it anew
}

// workflows is what of a Temporal client starts and looks at tasks.
type workflows interface {
	ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error)
	DescribeWorkflow(ctx context.Context, workflowID, runID string) (*client.WorkflowExecutionDescription, error)
}

// candidate is a message that may become a task.
type candidate struct {
	*held
	runID   int64
	lease   taskclaim.Lease
	payload []byte
	start   taskclaim.Fate
	state   startState
	known   bool // an earlier try to start it left it unsure
}

// enter notes the tasks that are about to start.
func (s *starter) enter(claimed []*candidate) {
	now := time.Now().UTC()
	for _, c := range claimed {
		c.known = s.books.enter(wire.StartedTask{
			TaskID: c.message.TaskID, RunID: c.runID, StartedAt: now, TakenUntil: c.lease.TakenUntil.UTC()}, now)
	}
}

// startAll records the tasks that are about to start, starts them, and settles
// their messages. It returns how many slots they take.
func (s *starter) startAll(ctx context.Context, claimed []*candidate) int {
	if len(claimed) == 0 {
		return 0
	}
	if s.stopped(ctx) {
		inParallel(claimed, func(c *candidate) { s.handBack(ctx, c) })
		return 0
	}
	s.enter(claimed)
	if err := s.intend(ctx); err != nil {
		inParallel(claimed, func(c *candidate) {
			if !c.known {
				s.books.forget(c.taskID())
			}
			s.inbox.keep(ctx, c.held, "recording it: "+activities.Redact(err.Error()))
		})
		return 0
	}
	inParallel(claimed, func(c *candidate) {
		var err error
		c.state, err = s.start(ctx, c)
		s.settleStart(ctx, c, err)
	})
	slots := 0
	for _, c := range claimed {
		if !c.known && (c.state == startDone || c.state == startUnsure) {
			slots++
		}
	}
	return slots
}

func (c *candidate) taskID() string { return wire.TaskID(c.message.TaskID, c.runID) }

// stopped asks once more whether to start: a claim may have taken long, and a
// task that is claimed after stop is handed back. Who can't be asked changes
// nothing.
func (s *starter) stopped(ctx context.Context) bool {
	if !s.spec.Claim.Used() {
		return false
	}
	control, err := s.allowed(ctx)
	return err == nil && control.State == wire.ClaimStopped
}

// intend records what is about to start. A worker that stops still starts what
// it has claimed; an attempt that was given up does not.
func (s *starter) intend(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errFenced) {
		return errFenced
	}
	return s.beat(context.WithoutCancel(ctx))
}

// settleStart does what the outcome of a start asks for.
func (s *starter) settleStart(ctx context.Context, c *candidate, err error) {
	id := c.taskID()
	switch c.state {
	case startDone:
		s.books.confirm(id)
		s.inbox.count("sluice_claim_started", c.from.Name())
		s.inbox.deleteSoon(ctx, c.held)
	case startOther:
		s.books.forget(id)
		s.inbox.deleteSoon(ctx, c.held)
	case startUnsure:
		s.inbox.keep(ctx, c.held, err.Error())
	case startBad:
		s.books.forget(id)
		s.refuse(ctx, c, err)
	case startRefused:
		s.books.forget(id)
		s.settingsRefused(ctx, c, err)
	default:
		s.books.forget(id)
		s.inbox.noteError(c.from.Name(), fmt.Errorf("Task.Start %s: %w", id, err))
		s.inbox.keep(ctx, c.held, err.Error())
	}
}

// refuse deals with a task that Temporal will not take, such as one whose
// payload is over the limit: it is told to the service, or is poison.
func (s *starter) refuse(ctx context.Context, c *candidate, err error) {
	if s.spec.Claim.Used() {
		s.report(ctx, c, wire.ReasonMalformedPayload)
		s.inbox.deleteSoon(ctx, c.held)
		return
	}
	s.inbox.poison(ctx, c.held, "it cannot be started: "+err.Error())
}

// settingsRefused keeps the message of a task that Temporal takes with no payload
// either: the claimer's own settings are at fault, and it claims nothing while they
// are. A run that was claimed goes back to the service, which has it done elsewhere.
func (s *starter) settingsRefused(ctx context.Context, c *candidate, err error) {
	s.inbox.noteError(c.from.Name(), fmt.Errorf("claiming has stopped, since Temporal refuses the claimer's own settings; every message stays: %w", err))
	if s.spec.Claim.Used() {
		s.report(ctx, c, wire.ReasonWorkerShutdown)
	}
	s.inbox.keep(ctx, c.held, err.Error())
}

// handBack returns a claim that came after stop.
func (s *starter) handBack(ctx context.Context, c *candidate) {
	c.state = startBack
	s.report(ctx, c, wire.ReasonWorkerShutdown)
	s.inbox.deleteSoon(ctx, c.held)
}

// start starts the Task. Its ID is the claim: of any number of deliveries one
// starts it.
func (s *starter) start(ctx context.Context, c *candidate) (startState, error) {
	started := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	_, err := s.temporal.ExecuteWorkflow(ctx, s.startOptions(c), wire.TypeTask, s.taskInput(c))
	s.meter.Timer("sluice_claim_start_latency").Record(time.Since(started))
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	var invalid *serviceerror.InvalidArgument
	switch {
	case err == nil:
		return startDone, nil
	case errors.As(err, &exists):
		return s.startedBefore(ctx, c)
	case errors.As(err, &invalid):
		state := startRefused
		if len(c.payload) > largePayload {
			state = startBad
		}
		return state, errors.New(activities.Redact(invalid.Error()))
	default:
		err = errors.New(activities.Redact(err.Error()))
		return s.afterFault(ctx, c, err)
	}
}

// largePayload is the size from which a payload may be what Temporal refuses: its
// servers take at least this much. All else of a message that goes into a start is
// bounded, so that a smaller one is refused for what the claimer adds to it.
const largePayload = 128 << 10

// afterFault decides about a start whose answer was lost.
func (s *starter) afterFault(ctx context.Context, c *candidate, err error) (startState, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	switch _, state, lookErr := s.look(ctx, c.taskID()); {
	case lookErr == nil:
		return state, nil
	default:
		return startUnsure, err // even "not found" may change: the start may be under way
	}
}

func (s *starter) startOptions(c *candidate) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                                       c.taskID(),
		TaskQueue:                                s.taskQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true, // its first workflow task comes with the answer
		Memo:                                     map[string]any{memoClaimer: s.claimer},
		TypedSearchAttributes:                    activities.StartAttributes(wire.TaskRunning, wire.TypeTask, c.from.Name()),
		StaticSummary:                            c.summary(),
		StaticDetails:                            wire.About(wire.TypeTask),
		Priority:                                 temporal.Priority{FairnessKey: s.spec.FairnessKey},
	}
}

// memoClaimer is the memo field of a Task that names its claimer.
const memoClaimer = "claimer"

func (s *starter) taskInput(c *candidate) wire.TaskInput {
	in := wire.TaskInput{
		TaskID: c.message.TaskID, RunID: c.runID, Payload: json.RawMessage(c.payload), Queue: c.from.Name(),
		Run: s.spec.Run, Claimer: s.claimer, FairnessKey: s.spec.FairnessKey,
	}
	if spec := s.spec.Claim; spec.Used() {
		in.Claim = &wire.TaskClaim{Service: spec.Service, ReclaimBefore: spec.ReclaimBefore, Lease: c.lease}
	}
	return in
}

// startedBefore decides about a Task that exists: it is ours and not counted
// anywhere when an attempt that was given up started it after all.
func (s *starter) startedBefore(ctx context.Context, c *candidate) (startState, error) {
	id := c.taskID()
	running, state, err := s.look(ctx, id)
	if err != nil {
		return startUnsure, errors.New(activities.Redact(err.Error()))
	}
	if state == startOther {
		return startOther, nil
	}
	control, err := s.ask(ctx, true)
	switch {
	case err != nil:
		return startUnsure, errors.New(activities.Redact(err.Error()))
	case counted(control, id):
		return startOther, nil
	case c.known, running: // the earlier try has started it, or an attempt that was given up
		return startDone, nil
	default:
		return startOther, nil
	}
}

// look tells whether a Task runs, and whether it is ours (startDone) or not.
func (s *starter) look(ctx context.Context, id string) (running bool, state startState, err error) {
	described, err := s.describe(ctx, id)
	if err != nil {
		return false, startFailed, err
	}
	info := described.RawResponse.GetWorkflowExecutionInfo()
	running = info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	var claimer wire.ClaimerRef
	if payload := info.GetMemo().GetFields()[memoClaimer]; payload != nil {
		if err := s.converter().FromPayload(payload, &claimer); err != nil {
			return running, startOther, nil //nolint:nilerr // of another key or kind: not ours
		}
	}
	if claimer == s.claimer {
		return running, startDone, nil
	}
	return running, startOther, nil
}

func (s *starter) describe(ctx context.Context, id string) (*client.WorkflowExecutionDescription, error) {
	return s.temporal.DescribeWorkflow(ctx, id, "")
}

func (s *starter) converter() converter.DataConverter {
	if s.payloads != nil {
		return s.payloads
	}
	return converter.GetDefaultDataConverter()
}
