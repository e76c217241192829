package workflows

import (
	"fmt"
	"strings"
	"time"

	"sluice/activities"
	"sluice/internal/taskclaim"
)

// claimState is what a claimer carries across continue-as-new.
type claimState struct {
	State    string                   `json:"state"` // OPEN, DRAINING, STOPPED
	Reason   string                   `json:"reason,omitempty"`
	Capacity int                      `json:"capacity"`
	Claimed  int64                    `json:"claimed"`
	Finished int64                    `json:"finished"`
	Failed   int64                    `json:"failed"`
	Poisoned int64                    `json:"poisoned"`
	Excused  int64                    `json:"excused"`
	Running  []activities.StartedTask `json:"running,omitempty"` // reported and not finished, oldest first
	Early    []earlyTask              `json:"early,omitempty"`   // finished before they were reported
	Queues   []activities.QueueState  `json:"queues,omitempty"`
	Carry    activities.PollCarry     `json:"carry"`
	Canceled bool                     `json:"canceled,omitempty"`
}

// earlyTask is a task that told its end before the polling activity told its
// start.
type earlyTask struct {
	ID     string    `json:"id"`
	Failed bool      `json:"failed"`
	At     time.Time `json:"at"`
}

// earlyFor is how long an early end is kept: far longer than an activity takes
// to report a start, so that only a task nobody will ever report is dropped.
const earlyFor = 24 * time.Hour

func newClaimState(capacity int, now time.Time) *claimState {
	return &claimState{
		State: activities.ClaimOpen, Capacity: capacity,
		Carry: activities.PollCarry{Credit: taskclaim.Credit{Events: taskclaim.FirstCredit, At: now}},
	}
}

// finish takes a task's own word that it ended. A task is counted once, however
// often it says so.
func (s *claimState) finish(id string, failed bool, now time.Time) {
	for i := range s.Running {
		if s.Running[i].ID() == id {
			s.Running = append(s.Running[:i:i], s.Running[i+1:]...)
			s.countEnd(failed)
			return
		}
	}
	for _, e := range s.Early {
		if e.ID == id {
			return
		}
	}
	s.Early = append(s.Early, earlyTask{ID: id, Failed: failed, At: now})
}

func (s *claimState) countEnd(failed bool) {
	s.Finished++
	if failed {
		s.Failed++
	}
}

// report takes in what the polling activity tells.
func (s *claimState) report(r activities.PollReport, now time.Time) {
	for _, t := range r.Started {
		s.Claimed++
		if failed, ended := s.takeEarly(t.ID()); ended {
			s.countEnd(failed)
			continue
		}
		s.Running = append(s.Running, t)
	}
	for _, l := range r.Lost {
		s.lose(activities.TaskID(l.TaskID, l.RunID))
	}
	s.Poisoned += r.Poisoned
	s.Excused += r.Excused
	if len(r.Queues) > 0 {
		s.Queues = r.Queues
	}
	s.Carry = r.Carry
	kept := s.Early[:0:0]
	for _, e := range s.Early {
		if now.Sub(e.At) < earlyFor {
			kept = append(kept, e)
		}
	}
	s.Early = kept
}

// lose ends a task that closed without telling; one that has told by now is
// counted already.
func (s *claimState) lose(id string) {
	for i := range s.Running {
		if s.Running[i].ID() == id {
			s.Running = append(s.Running[:i:i], s.Running[i+1:]...)
			s.countEnd(true)
			return
		}
	}
}

func (s *claimState) takeEarly(id string) (failed, ended bool) {
	for i, e := range s.Early {
		if e.ID == id {
			s.Early = append(s.Early[:i:i], s.Early[i+1:]...)
			return e.Failed, true
		}
	}
	return false, false
}

// over reports that the claimer has nothing left to do, once its polling
// activity has ended.
func (s *claimState) over(maxTasks int64) bool {
	exhausted := maxTasks > 0 && s.Claimed >= maxTasks
	return (s.State != activities.ClaimOpen || exhausted) && len(s.Running) == 0 && len(s.Carry.Unsure) == 0
}

func (s *claimState) control(in *ClaimTasksInput, tasks, rollover bool) activities.ClaimControl {
	c := activities.ClaimControl{
		State: s.State, Capacity: s.Capacity, MaxTasks: in.MaxTasks, Claimed: s.Claimed,
		Running: len(s.Running), Rollover: rollover,
	}
	for _, e := range s.Early {
		c.Early = append(c.Early, e.ID)
	}
	if tasks {
		c.Tasks = s.Running
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
	AsOf     time.Time               `json:"asOf"`
	State    string                  `json:"state"`
	Reason   string                  `json:"reason"`
	Capacity int                     `json:"capacity"`
	Running  int                     `json:"running"`
	Claimed  int64                   `json:"claimed"`  // tasks started
	Finished int64                   `json:"finished"` // of these ended, however
	Failed   int64                   `json:"failed"`   // of these not completed
	Poisoned int64                   `json:"poisoned"`
	Excused  int64                   `json:"excused"` // deliveries
	Queues   []activities.QueueState `json:"queues"`
	Tasks    []ClaimedTask           `json:"tasks"` // the first 500
}

const maxListedTasks = 500

func (s *claimState) status(now time.Time) ClaimTasksStatus {
	status := ClaimTasksStatus{
		AsOf: now, State: s.State, Reason: s.Reason, Capacity: s.Capacity, Running: len(s.Running),
		Claimed: s.Claimed, Finished: s.Finished, Failed: s.Failed, Poisoned: s.Poisoned, Excused: s.Excused,
		Queues: append([]activities.QueueState{}, s.Queues...), Tasks: []ClaimedTask{},
	}
	state := "RUNNING"
	if s.State == activities.ClaimStopped {
		state = "STOPPING"
	}
	for i, t := range s.Running {
		if i == maxListedTasks {
			break
		}
		listed := ClaimedTask{TaskID: t.TaskID, RunID: t.RunID, State: state, StartedAt: t.StartedAt}
		if !t.TakenUntil.IsZero() {
			listed.TakenUntil = &t.TakenUntil
		}
		status.Tasks = append(status.Tasks, listed)
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

// details is the status in Markdown, for the Web UI.
func (s *claimState) details() string {
	var b strings.Builder
	switch s.State {
	case activities.ClaimOpen:
		fmt.Fprintf(&b, "**Claiming**, %d of %d slots in use.\n\n", len(s.Running), s.Capacity)
	case activities.ClaimDraining:
		fmt.Fprintf(&b, "**Draining**: nothing new is claimed; waits for %d running tasks.\n\n", len(s.Running))
	default:
		fmt.Fprintf(&b, "**Stopped**: %d running tasks were told to stop.\n\n", len(s.Running))
	}
	fmt.Fprintf(&b, "Claimed %d, finished %d (%d not completed), poisoned %d, excused deliveries %d.\n",
		s.Claimed, s.Finished, s.Failed, s.Poisoned, s.Excused)
	for _, q := range s.Queues {
		fmt.Fprintf(&b, "\n- `%s`: %d visible, about %d in all", q.Name, q.Visible, q.Approximate)
		if q.LastError != "" {
			fmt.Fprintf(&b, "; %d errors, last: %s", q.Errors, q.LastError)
		}
	}
	return b.String()
}
