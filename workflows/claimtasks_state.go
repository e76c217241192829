package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// claimState is what a claimer carries across continue-as-new.
type claimState struct {
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

// rememberEnds is how many ends are remembered. A task tells its end again when
// its worker is lost just then, which is noticed within seconds.
const rememberEnds = 200

func newClaimState(capacity int, now time.Time) *claimState {
	return &claimState{
		State: wire.ClaimOpen, Capacity: capacity,
		Carry: wire.PollCarry{Credit: taskclaim.Credit{Events: taskclaim.FirstCredit, At: now}},
	}
}

// finish takes a task's own word that it ended. A task is counted once, however
// often it says so.
func (s *claimState) finish(id string, failed bool) {
	if slices.Contains(s.Recent, id) {
		return
	}
	s.remember(id)
	if !s.endRunning(id, failed) {
		s.Early = append(s.Early, earlyTask{ID: id, Failed: failed})
	}
}

func (s *claimState) remember(id string) {
	s.Recent = append(s.Recent, id)
	if excess := len(s.Recent) - rememberEnds; excess > 0 {
		s.Recent = slices.Delete(s.Recent, 0, excess)
	}
}

func (s *claimState) endRunning(id string, failed bool) bool {
	i := slices.IndexFunc(s.Running, func(t wire.StartedTask) bool { return t.ID() == id })
	if i < 0 {
		return false
	}
	s.Running = slices.Delete(s.Running, i, i+1)
	s.countEnd(failed)
	return true
}

func (s *claimState) countEnd(failed bool) {
	s.Finished++
	if failed {
		s.Failed++
	}
}

// report takes in what the polling activity tells: all that it started, surely
// or perhaps. Who told an early end and is not among these was counted before.
func (s *claimState) report(r wire.PollReport) {
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

func (s *claimState) takeEarly(id string) (failed, ended bool) {
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
func (s *claimState) over(maxTasks int64) bool {
	exhausted := maxTasks > 0 && s.Claimed >= maxTasks
	return (s.State != wire.ClaimOpen || exhausted) && len(s.Running) == 0 && len(s.Carry.Unsure) == 0
}

func (s *claimState) control(in *ClaimTasksInput, tasks, rollover bool) wire.ClaimControl {
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

// ClaimedTask is a running task in the status document.
type ClaimedTask struct {
	TaskID     string     `json:"taskId"`
	RunID      int64      `json:"runId"`
	State      string     `json:"state"` // RUNNING; STOPPING after stop
	StartedAt  time.Time  `json:"startedAt"`
	TakenUntil *time.Time `json:"takenUntil"` // as claimed; the Task's own status has it as renewed
}

// ClaimTasksStatus is the answer to status, and the result.
type ClaimTasksStatus struct {
	AsOf     time.Time         `json:"asOf"`
	State    string            `json:"state"`
	Reason   string            `json:"reason"`
	Capacity int               `json:"capacity"`
	Running  int               `json:"running"`
	Claimed  int64             `json:"claimed"`  // tasks started
	Finished int64             `json:"finished"` // of these ended, however
	Failed   int64             `json:"failed"`   // of these not completed
	Poisoned int64             `json:"poisoned"`
	Excused  int64             `json:"excused"` // deliveries
	Queues   []wire.QueueState `json:"queues"`
	Tasks    []ClaimedTask     `json:"tasks"` // the first 500
}

const maxListedTasks = 500

func (s *claimState) status(now time.Time) ClaimTasksStatus {
	status := ClaimTasksStatus{
		AsOf: now, State: s.State, Reason: s.Reason, Capacity: s.Capacity, Running: len(s.Running),
		Claimed: s.Claimed, Finished: s.Finished, Failed: s.Failed, Poisoned: s.Poisoned, Excused: s.Excused,
		Queues: append([]wire.QueueState{}, s.Queues...), Tasks: []ClaimedTask{},
	}
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

func claimedTask(t wire.StartedTask, claimer string) ClaimedTask {
	listed := ClaimedTask{TaskID: t.TaskID, RunID: t.RunID, State: TaskRunning, StartedAt: t.StartedAt}
	if claimer == wire.ClaimStopped {
		listed.State = TaskStopping
	}
	if !t.TakenUntil.IsZero() {
		listed.TakenUntil = &t.TakenUntil
	}
	return listed
}

// details is the status in Markdown, for the Web UI.
func (s *claimState) details() string {
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
		fmt.Fprintf(&b, "\n\nAs of %s; `starter claim status` shows what was started since.\n", at.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return b.String()
}
