package claiming

import (
	"slices"
	"sync"
	"time"

	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// ledger keeps the books of the polling activity: the tasks that were started or are
// about to be, of which the workflow does not know yet; those that ended unheard; what
// else the next report tells, and when that is due. It knows neither queues nor
// Temporal.
type ledger struct {
	began time.Time
	beats spacings

	mu     sync.Mutex
	tasks  []wire.OpenTask // started or about to be, not reported yet
	news   pollNews
	active time.Time // something happened last
	credit taskclaim.Credit
}

// spacings are how far apart heartbeats are.
type spacings struct {
	least   time.Duration                           // while things happen
	inForce time.Duration                           // of this activity
	after   func(quiet time.Duration) time.Duration // when nothing has happened for so long
}

// pollNews is what has happened since the activity began, for its report.
type pollNews struct {
	lost              []wire.LostTask
	poisoned, excused int64
	other             bool
	since             time.Time // of the oldest
}

// newLedger goes on with what the activity before carried on.
func newLedger(in wire.PollInput, beats spacings, calmAfter time.Duration, now time.Time) *ledger {
	l := &ledger{began: now, beats: beats, active: now, tasks: in.Carry.Unsure, credit: in.Carry.Credit}
	if beats.inForce > beats.least {
		l.active = now.Add(-calmAfter)
	}
	if len(in.Queues) == 0 {
		l.news.other = true // the first report tells the state of the queues
	}
	return l
}

// restore takes over from an attempt that was given up, by its last heartbeat.
func (l *ledger) restore(m wire.PollMemory, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks, l.credit = m.Tasks, m.Carry.Credit
	l.news = pollNews{lost: m.Lost, poisoned: m.Poisoned, excused: m.Excused, other: true, since: now}
}

// remember writes the books into a heartbeat or a report.
func (l *ledger) remember(m *wire.PollMemory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.Tasks = append([]wire.OpenTask(nil), l.tasks...)
	m.Lost = append([]wire.LostTask(nil), l.news.lost...)
	m.Poisoned, m.Excused = l.news.poisoned, l.news.excused
	m.Carry.Credit = l.credit
}

// enter notes a task that is about to start. known says that an earlier try to start
// it left open whether it did.
func (l *ledger) enter(t wire.StartedTask, now time.Time) (known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = now
	if l.find(t.ID()) != nil {
		return true
	}
	l.tasks = append(l.tasks, wire.OpenTask{StartedTask: t, Since: now})
	return false
}

// find is an unreported task; l.mu is held.
func (l *ledger) find(id string) *wire.OpenTask {
	for i := range l.tasks {
		if l.tasks[i].ID() == id {
			return &l.tasks[i]
		}
	}
	return nil
}

// confirm notes that tasks did start. Those that are not in the books were reported.
func (l *ledger) confirm(ids ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if t := l.find(id); t != nil {
			t.Sure = true
		}
	}
}

// forget takes out a task that did not start, or that is counted elsewhere. One that
// is known to have started stays.
func (l *ledger) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = slices.DeleteFunc(l.tasks, func(t wire.OpenTask) bool { return !t.Sure && t.ID() == id })
}

// counted says that the workflow has counted a task: it runs by its books, or was
// among the last that ended, and not before it was reported.
func counted(control wire.ClaimControl, id string) bool {
	runs := slices.ContainsFunc(control.Tasks, func(t wire.StartedTask) bool { return t.ID() == id })
	return runs || slices.Contains(control.Recent, id) && !slices.Contains(control.Early, id)
}

// dropCounted takes out what the workflow has counted already: the message of a task
// that was reported came again, and an attempt was lost before it recognised that.
func (l *ledger) dropCounted(control wire.ClaimControl) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = slices.DeleteFunc(l.tasks, func(t wire.OpenTask) bool { return !t.Sure && counted(control, t.ID()) })
}

// lose notes a task that ended without telling, and whether that is new.
func (l *ledger) lose(t wire.OpenTask, status string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, known := range l.news.lost {
		if known.TaskID == t.TaskID && known.RunID == t.RunID {
			return false
		}
	}
	l.news.lost = append(l.news.lost, wire.LostTask{TaskID: t.TaskID, RunID: t.RunID, Status: status})
	l.aged(now)
	return true
}

// aged has the news count from now, if there was none; l.mu is held.
func (l *ledger) aged(now time.Time) {
	if l.news.since.IsZero() {
		l.news.since = now
	}
}

func (l *ledger) countPoisoned() {
	l.mu.Lock()
	l.news.poisoned++
	l.mu.Unlock()
}

func (l *ledger) countExcused() {
	l.mu.Lock()
	l.news.excused++
	l.mu.Unlock()
}

// tell makes the next report due as soon as the allowance pays for it.
func (l *ledger) tell(now time.Time) {
	l.stirred(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.news.other = true
	l.aged(now)
}

// happened notes that something has happened that the workflow is told in any case:
// heartbeats are to be frequent.
func (l *ledger) happened(now time.Time) {
	l.mu.Lock()
	l.active = now
	l.mu.Unlock()
}

// stirred notes something that may come and go all day, which has frequent heartbeats
// go on; rare ones become frequent when it is told.
func (l *ledger) stirred(now time.Time) {
	if l.beats.inForce <= l.beats.least {
		l.happened(now)
	}
}

// slots counts by what the workflow knows and what it has not been told yet.
func (l *ledger) slots(control wire.ClaimControl) taskclaim.Slots {
	l.mu.Lock()
	defer l.mu.Unlock()
	return taskclaim.Slots{
		Capacity: control.Capacity, Running: control.Running + len(l.unfinished(control.Early)),
		MaxTasks: control.MaxTasks, Claimed: control.Claimed + int64(len(l.tasks)),
	}
}

// unfinished are the unreported tasks that have not told their end; l.mu is held.
func (l *ledger) unfinished(early []string) (open []wire.OpenTask) {
	ended := make(map[string]bool, len(early))
	for _, id := range early {
		ended[id] = true
	}
	for _, t := range l.tasks {
		if !ended[t.ID()] {
			open = append(open, t)
		}
	}
	return open
}

// running are the tasks that the workflow has and those that it does not know of yet,
// without what has finished.
func (l *ledger) running(control wire.ClaimControl) []wire.OpenTask {
	var running []wire.OpenTask
	for _, t := range control.Tasks {
		running = append(running, wire.OpenTask{StartedTask: t, Sure: true, Since: t.StartedAt})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(running, l.unfinished(control.Early)...)
}

// due tells whether to end the activity and report, and how far apart the heartbeats
// are to be then. A change of their spacing schedules the activity anew. To calm
// down is paid for as other news is, so that a day of errors stays cheap.
func (l *ledger) due(control wire.ClaimControl, now time.Time) (time.Duration, bool) {
	tells := l.tells(control, now)
	l.mu.Lock()
	defer l.mu.Unlock()
	spacing := l.beats.after(now.Sub(l.active))
	if l.news.other {
		spacing = l.beats.least
	}
	changed := spacing > l.beats.inForce && l.credit.Affords() || spacing < l.beats.inForce && l.active.After(l.began)
	return spacing, tells || changed
}

// tells is whether there is something that the workflow must know.
func (l *ledger) tells(control wire.ClaimControl, now time.Time) bool {
	slots := l.slots(control)
	l.mu.Lock()
	defer l.mu.Unlock()
	over := (control.State != wire.ClaimOpen || slots.Exhausted()) && slots.Running == 0
	if over || control.Rollover || now.Sub(l.began) > shift {
		return true
	}
	if len(l.tasks) > 0 {
		l.aged(l.tasks[0].Since)
	}
	since := l.news.since
	if since.IsZero() {
		since = l.began
	}
	l.credit = l.credit.Earn(now)
	news := taskclaim.News{
		Started: slices.ContainsFunc(l.tasks, func(t wire.OpenTask) bool { return t.Sure }),
		Other:   l.news.other, Urgent: len(l.news.lost) > 0, Age: now.Sub(since), Quiet: now.Sub(l.began),
	}
	return news.Due(l.credit)
}

// unreported says that there is something of tasks to report.
func (l *ledger) unreported() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tasks) > 0 || len(l.news.lost) > 0
}
