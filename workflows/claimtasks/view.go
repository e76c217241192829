package claimtasks

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Live adds what the polling activity has not reported yet, from its heartbeat
// and the answer to the query control. Reports cost history events, so the
// status alone may be behind by a dozen tasks.
func (s Status) Live(m wire.PollMemory, control wire.ClaimControl) Status {
	known := map[string]bool{}
	for _, id := range control.Early {
		known[id] = true
	}
	for _, t := range control.Tasks {
		known[t.ID()] = true
	}
	for _, t := range m.Tasks {
		if known[t.ID()] || !t.Sure {
			continue
		}
		s.Claimed++
		s.Running++
		if len(s.Tasks) < maxListedTasks {
			s.Tasks = append(s.Tasks, claimedTask(t.StartedTask, s.State))
		}
	}
	s.Poisoned += m.Poisoned
	s.Excused += m.Excused
	if len(m.Queues) > 0 {
		s.Queues, s.LastError = m.Queues, lastError(m.Queues)
	}
	return s
}

// TaskView is a running task in the status document.
type TaskView struct {
	TaskID     string     `json:"taskId"`
	RunID      int64      `json:"runId"`
	State      string     `json:"state"` // RUNNING; STOPPING after stop
	StartedAt  time.Time  `json:"startedAt"`
	TakenUntil *time.Time `json:"takenUntil"` // as claimed; the Task's own status has it as renewed
}

// Status is the answer to status, and the result.
type Status struct {
	AsOf     time.Time `json:"asOf"`
	State    string    `json:"state"`
	Reason   string    `json:"reason"`
	Capacity int       `json:"capacity"`
	Running  int       `json:"running"`
	Claimed  int64     `json:"claimed"`  // tasks started
	Finished int64     `json:"finished"` // of these ended, however
	Failed   int64     `json:"failed"`   // of these not completed
	Poisoned int64     `json:"poisoned"`
	Excused  int64     `json:"excused"` // deliveries
	// LastError is that of the first queue that has one.
	LastError string            `json:"lastError,omitempty"`
	Queues    []wire.QueueState `json:"queues"`
	Tasks     []TaskView        `json:"tasks"` // the first 500
	Trouble   *shell.Trouble    `json:"trouble"`
}

const maxListedTasks = 500

func (s *carried) status(now time.Time) Status {
	status := Status{
		AsOf: now, State: s.State, Reason: s.Reason, Capacity: s.Capacity, Running: len(s.Running),
		Claimed: s.Claimed, Finished: s.Finished, Failed: s.Failed, Poisoned: s.Poisoned, Excused: s.Excused,
		Queues: append([]wire.QueueState{}, s.Queues...), Tasks: []TaskView{},
	}
	status.LastError = lastError(s.Queues)
	for i, t := range s.Running {
		if i == maxListedTasks {
			break
		}
		status.Tasks = append(status.Tasks, claimedTask(t, s.State))
	}
	// A task that ended before its start was reported was claimed and has ended.
	for _, e := range s.Early {
		status.Claimed++
		status.Finished++
		if e.Failed {
			status.Failed++
		}
	}
	return status
}

// status is the status document. Until a worker has reported, it tells where one has to
// poll: none may be there that can.
func (c *claimer) status(ctx workflow.Context) Status {
	status := c.state.status(workflow.Now(ctx))
	status.Trouble = c.trouble().OrNil()
	if unpolled := c.unpolled(); unpolled != "" {
		for _, q := range c.in.Queues {
			status.Queues = append(status.Queues, wire.QueueState{Name: q.Name, LastError: unpolled})
		}
		status.LastError = lastError(status.Queues)
	}
	return status
}

// unpolled says why nothing may come; "" where a worker has told of its queues.
func (c *claimer) unpolled() string {
	if c.in.SignedURLs != nil || len(c.state.Queues) > 0 || c.state.State != wire.ClaimOpen {
		return ""
	}
	return "not polled yet: a worker with Azure settings has to poll the task queue " + c.pollQueue()
}

func lastError(queues []wire.QueueState) string {
	for _, q := range queues {
		if q.LastError != "" {
			return q.Name + ": " + q.LastError
		}
	}
	return ""
}

func claimedTask(t wire.StartedTask, claimer string) TaskView {
	listed := TaskView{TaskID: t.TaskID, RunID: t.RunID, State: wire.TaskRunning, StartedAt: t.StartedAt}
	if claimer == wire.ClaimStopped {
		listed.State = wire.TaskStopping
	}
	if !t.TakenUntil.IsZero() {
		listed.TakenUntil = &t.TakenUntil
	}
	return listed
}

// details is the status in Markdown, for the Web UI.
func (s *carried) details() string {
	var b strings.Builder
	switch s.State {
	case wire.ClaimOpen:
		fmt.Fprintf(&b, "**Claiming**, %d of %d slots in use.\n\n", len(s.Running), s.Capacity)
	case wire.ClaimDraining:
		fmt.Fprintf(&b, "**Draining**: nothing new is claimed; it ends after the running tasks, of which there are %d.\n\n", len(s.Running))
	default:
		fmt.Fprintf(&b, "**Stopped**: what runs is told to stop; still running: %d.\n\n", len(s.Running))
	}
	if s.Reason != "" {
		fmt.Fprintf(&b, "Reason: %s.\n\n", s.Reason)
	}
	fmt.Fprintf(&b, "Claimed %d, finished %d (%d not completed), poisoned %d, excused deliveries %d.\n",
		s.Claimed, s.Finished, s.Failed, s.Poisoned, s.Excused)
	for _, q := range s.Queues {
		fmt.Fprintf(&b, "\n- `%s`: %d visible, about %d in all", q.Name, q.Visible, q.Approximate)
		if q.LastError != "" {
			fmt.Fprintf(&b, "; errors so far: %d; last: %s", q.Errors, q.LastError)
		}
	}
	if at := s.Carry.Credit.At; s.State != wire.ClaimStopped && !at.IsZero() {
		fmt.Fprintf(&b, "\n\nFigures of %s; `starter claim status` shows what was started since.\n", at.UTC().Format(shell.Instant))
	}
	return b.String()
}

// trouble is why nothing is claimed.
func (c *claimer) trouble() shell.Trouble {
	switch {
	case c.ended || c.state.State == wire.ClaimStopped:
		return shell.Trouble{}
	case c.broken.Type != "":
		return c.broken
	case c.state.Carry.Trouble.Type != "":
		return c.state.Carry.Trouble
	default:
		return shell.OrHeard(c.root, c.polling.Trouble())
	}
}

// show brings search attributes and the Web UI's details up to date.
func (c *claimer) show(ctx workflow.Context) error {
	details := c.state.details()
	if unpolled := c.unpolled(); unpolled != "" {
		details += "\n\nIts queues are " + unpolled + ".\n"
	}
	if c.failed != "" {
		details += "\n\nThe polling activity failed and is started again: " + c.failed
	}
	shell.ShowDetails(ctx, workflow.Now(ctx), c.trouble(), details)
	return c.shown.Show(ctx, shell.Shown{State: c.state.State, Type: wire.TypeClaimTasks, Target: c.in.target(), Trouble: c.trouble(), Ended: c.ended})
}
