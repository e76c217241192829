package claimtasks

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/taskclaim"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// carried is what a claimer carries across continue-as-new.
type carried struct {
	State    string             `json:"state"` // OPEN, DRAINING, STOPPED
	Reason   string             `json:"reason,omitempty"`
	Capacity int                `json:"capacity"`
	Claimed  int64              `json:"claimed"`
	Finished int64              `json:"finished"`
	Failed   int64              `json:"failed"`
	Poisoned int64              `json:"poisoned"`
	Excused  int64              `json:"excused"`
	Running  []wire.StartedTask `json:"running,omitempty"` // reported and not finished, oldest first
	Early    []earlyTask        `json:"early,omitempty"`   // finished before they were reported
	Recent   []string           `json:"recent,omitempty"`  // the last that finished, whose word may come twice
	Queues   []wire.QueueState  `json:"queues,omitempty"`
	Carry    wire.PollCarry     `json:"carry"`
	Canceled bool               `json:"canceled,omitempty"`
}

// earlyTask is a task that told its end before the polling activity told its
// start.
type earlyTask struct {
	ID     string `json:"id"`
	Failed bool   `json:"failed"`
}

// rememberEnds is how many ends are remembered. All that a lot told tell their ends
// again when their worker is lost just then, which is noticed within seconds.
const rememberEnds = 1000

func newCarried(capacity int, now time.Time) *carried {
	return &carried{
		State: wire.ClaimOpen, Capacity: capacity,
		Carry: wire.PollCarry{Credit: taskclaim.Credit{Events: taskclaim.FirstCredit, At: now}},
	}
}

// finish takes a task's own word that it ended. A task is counted once, however
// often it says so.
func (s *carried) finish(id string, failed bool) {
	if slices.Contains(s.Recent, id) {
		return
	}
	s.remember(id)
	if !s.endRunning(id, failed) {
		s.Early = append(s.Early, earlyTask{ID: id, Failed: failed})
	}
}

func (s *carried) remember(id string) {
	s.Recent = append(s.Recent, id)
	if excess := len(s.Recent) - rememberEnds; excess > 0 {
		s.Recent = slices.Delete(s.Recent, 0, excess)
	}
}

func (s *carried) endRunning(id string, failed bool) bool {
	i := slices.IndexFunc(s.Running, func(t wire.StartedTask) bool { return t.ID() == id })
	if i < 0 {
		return false
	}
	s.Running = slices.Delete(s.Running, i, i+1)
	s.countEnd(failed)
	return true
}

func (s *carried) countEnd(failed bool) {
	s.Finished++
	if failed {
		s.Failed++
	}
}

// report takes in what the polling activity tells: all that it started, surely
// or perhaps. Who told an early end and is not among these was counted before.
func (s *carried) report(r wire.PollReport) {
	for _, t := range r.Started {
		s.Claimed++
		if failed, ended := s.takeEarly(t.ID()); ended {
			s.countEnd(failed)
			continue
		}
		s.Running = append(s.Running, t)
	}
	for _, l := range r.Lost {
		id := wire.TaskID(l.TaskID, l.RunID)
		if s.endRunning(id, true) {
			s.remember(id)
		}
	}
	s.Poisoned += r.Poisoned
	s.Excused += r.Excused
	if len(r.Queues) > 0 {
		s.Queues = r.Queues
	}
	s.Carry = r.Carry
	s.Early = slices.DeleteFunc(s.Early, func(e earlyTask) bool {
		return !slices.ContainsFunc(r.Carry.Unsure, func(t wire.OpenTask) bool { return t.ID() == e.ID })
	})
}

func (s *carried) takeEarly(id string) (failed, ended bool) {
	i := slices.IndexFunc(s.Early, func(e earlyTask) bool { return e.ID == id })
	if i < 0 {
		return false, false
	}
	failed = s.Early[i].Failed
	s.Early = slices.Delete(s.Early, i, i+1)
	return failed, true
}

// over reports that the claimer has nothing left to do, once its polling
// activity has ended.
func (s *carried) over(maxTasks int64) bool {
	exhausted := maxTasks > 0 && s.Claimed >= maxTasks
	return (s.State != wire.ClaimOpen || exhausted) && len(s.Running) == 0 && len(s.Carry.Unsure) == 0
}

func (s *carried) control(in *Input, tasks, rollover bool) wire.ClaimControl {
	c := wire.ClaimControl{
		State: s.State, Capacity: s.Capacity, MaxTasks: in.MaxTasks, Claimed: s.Claimed,
		Running: len(s.Running), Rollover: rollover,
	}
	for _, e := range s.Early {
		c.Early = append(c.Early, e.ID)
	}
	if tasks {
		c.Tasks, c.Recent = s.Running, s.Recent
	}
	return c
}

// continued is the input of a run that goes on from another.
type continued struct {
	Input
	Resumed *carried `json:"resumed,omitempty"`
}

// continueAsNew starts a new run; the polling activity has ended, so nothing is
// pending, and the signals that came are taken in first.
func (c *claimer) continueAsNew(ctx workflow.Context) error {
	var next shell.RollOver
	if err := next.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	c.inbox.Take(ctx)
	c.noticeCancel()          // in this very task
	c.state.Carry.Place = nil // the next run has a history of its own
	return workflow.NewContinueAsNewError(ctx, wire.TypeClaimTasks, continued{*c.in, c.state})
}
