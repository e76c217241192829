package claiming

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/wire"
)

func testLedger(carry wire.PollCarry, now time.Time) *ledger {
	beats := spacings{least: 10 * time.Second, inForce: 10 * time.Second, after: func(time.Duration) time.Duration { return 10 * time.Second }}
	return newLedger(wire.PollInput{Carry: carry, Queues: []wire.QueueState{{Name: "q"}}}, beats, time.Minute, now)
}

// world is what is so of the tasks of a claimer, whatever its ledger knows: which
// run, what the workflow was told, and what the server has as the last heartbeat.
type world struct {
	now      time.Time
	books    *ledger
	beat     *wire.PollMemory // of this activity
	carry    wire.PollCarry
	tasks    map[string]wire.StartedTask
	started  map[string]bool
	reported map[string]int
	lost     map[string]int
}

func (w *world) memory() wire.PollMemory {
	m := wire.PollMemory{}
	w.books.remember(&m)
	return m
}

// start has a delivery of a task: it is entered, recorded, and started, which may
// fail, or go through without an answer, or not go through without an answer.
func (w *world) start(id int, recorded, goes, answered bool) {
	task := wire.StartedTask{TaskID: fmt.Sprint(id), StartedAt: w.now}
	w.tasks[task.ID()] = task
	known := w.books.enter(task, w.now)
	if !recorded {
		if !known {
			w.books.forget(task.ID())
		}
		return
	}
	m := w.memory()
	w.beat = &m
	switch before := w.started[task.ID()]; {
	case before && known && !counted(w.control(), task.ID()):
		w.books.confirm(task.ID()) // an earlier try has started it
	case before:
		w.books.forget(task.ID()) // it is counted elsewhere
	case goes && answered:
		w.started[task.ID()] = true
		w.books.confirm(task.ID())
	case answered:
		w.books.forget(task.ID())
	default:
		w.started[task.ID()] = goes
	}
}

// control is what the workflow answers: what was reported runs, or has ended.
func (w *world) control() (c wire.ClaimControl) {
	for id := range w.reported {
		if ended := len(w.reported)%2 == 0; ended {
			c.Recent = append(c.Recent, id)
		} else {
			c.Tasks = append(c.Tasks, w.tasks[id])
		}
	}
	return c
}

// look is at all whose start had no answer.
func (w *world) look() {
	w.books.dropCounted(w.control())
	for _, t := range w.books.running(wire.ClaimControl{}) {
		switch {
		case w.started[t.ID()]:
			w.books.confirm(t.ID())
		case !t.Sure:
			w.books.forget(t.ID())
		}
	}
}

// report ends the activity; the next goes on with what it carries.
func (w *world) report() {
	r := w.memory().Report()
	for _, s := range r.Started {
		w.reported[s.ID()]++
	}
	for _, l := range r.Lost {
		w.lost[wire.TaskID(l.TaskID, l.RunID)]++
	}
	w.carry, w.beat = r.Carry, nil
	w.books = testLedger(w.carry, w.now)
}

// crash has another attempt go on, by the last heartbeat of this one.
func (w *world) crash() {
	w.books = testLedger(w.carry, w.now)
	if w.beat != nil {
		w.books.restore(*w.beat, w.now)
	}
}

// Whatever the order of starts, lost answers, ends, reports and lost workers: every
// task that started is reported once, and none that did not.
func TestNoTaskIsCountedTwiceAndNoneIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_700_000_000, 0).UTC()
		w := &world{now: now, books: testLedger(wire.PollCarry{}, now), tasks: map[string]wire.StartedTask{}, started: map[string]bool{}, reported: map[string]int{}, lost: map[string]int{}}
		id := rapid.IntRange(0, 5)
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				w.start(id.Draw(t, "task"), rapid.Bool().Draw(t, "recorded"), rapid.Bool().Draw(t, "goes"), rapid.Bool().Draw(t, "answered"))
			},
			"end": func(t *rapid.T) { // a task that ended before it was reported has started
				if task := wire.TaskID(fmt.Sprint(id.Draw(t, "task")), 0); w.started[task] && w.reported[task] == 0 {
					w.books.confirm(task)
				}
			},
			"look":   func(*rapid.T) { w.look() },
			"report": func(*rapid.T) { w.report() },
			"crash":  func(*rapid.T) { w.crash() },
			"": func(t *rapid.T) {
				for task, n := range w.reported {
					if n > 1 || !w.started[task] {
						t.Fatalf("task %s was reported %d times; it started: %v", task, n, w.started[task])
					}
				}
			},
		})
		w.look()
		w.report()
		for task, started := range w.started {
			if started && w.reported[task] != 1 {
				t.Fatalf("task %s started and was reported %d times", task, w.reported[task])
			}
		}
		require.Empty(t, w.memory().Tasks)
	})
}

// A task that ended unheard is reported once, however often it is found.
func TestLostTaskIsReportedOnce(t *testing.T) {
	now := time.Now()
	l := testLedger(wire.PollCarry{}, now)
	task := wire.OpenTask{StartedTask: wire.StartedTask{TaskID: "a"}, Sure: true}
	require.True(t, l.lose(task, "TERMINATED", now))
	require.False(t, l.lose(task, "TERMINATED", now))
	require.True(t, l.unreported())
	var m wire.PollMemory
	l.remember(&m)
	require.Equal(t, []wire.LostTask{{TaskID: "a", Status: "TERMINATED"}}, m.Lost)
	_, due := l.due(wire.ClaimControl{State: wire.ClaimOpen, Capacity: 1, Running: 1}, now.Add(time.Minute))
	require.True(t, due, "it frees a slot")
}

// A slot is taken from before its task starts until its end is known.
func TestSlotsAreTakenByWhatMayHaveStarted(t *testing.T) {
	now := time.Now()
	l := testLedger(wire.PollCarry{}, now)
	control := wire.ClaimControl{State: wire.ClaimOpen, Capacity: 5, Running: 2, MaxTasks: 4, Claimed: 2}
	require.False(t, l.enter(wire.StartedTask{TaskID: "a"}, now))
	require.False(t, l.enter(wire.StartedTask{TaskID: "b"}, now))
	require.True(t, l.enter(wire.StartedTask{TaskID: "b"}, now), "a second delivery of a task whose start is open")
	slots := l.slots(control)
	require.Equal(t, 4, slots.Running)
	require.EqualValues(t, 4, slots.Claimed)
	require.True(t, slots.Exhausted())
	require.Zero(t, slots.Free())
	control.Early = []string{wire.TaskID("a", 0)}
	require.Equal(t, 3, l.slots(control).Running, "what told its end runs no more")
	require.EqualValues(t, 4, l.slots(control).Claimed, "and was claimed")
	l.forget(wire.TaskID("b", 0))
	require.Equal(t, 2, l.slots(control).Running)
	l.confirm(wire.TaskID("a", 0))
	l.forget(wire.TaskID("a", 0))
	require.EqualValues(t, 3, l.slots(control).Claimed, "what is known to have started is not forgotten")
}

// The activity ends at once where nothing is left to do, and where the history has to
// be cut; by itself it does after half a day.
func TestReportIsDue(t *testing.T) {
	now := time.Now()
	for what, c := range map[string]struct {
		control wire.ClaimControl
		after   time.Duration
		due     bool
	}{
		"nothing to tell": {wire.ClaimControl{State: wire.ClaimOpen, Capacity: 1}, time.Minute, false},
		"drained":         {wire.ClaimControl{State: wire.ClaimDraining, Capacity: 1}, 0, true},
		"draining":        {wire.ClaimControl{State: wire.ClaimDraining, Capacity: 1, Running: 1}, 0, false},
		"all claimed":     {wire.ClaimControl{State: wire.ClaimOpen, Capacity: 1, MaxTasks: 3, Claimed: 3}, 0, true},
		"long history":    {wire.ClaimControl{State: wire.ClaimOpen, Capacity: 1, Rollover: true}, 0, true},
		"half a day":      {wire.ClaimControl{State: wire.ClaimOpen, Capacity: 1}, shift + time.Second, true},
	} {
		_, due := testLedger(wire.PollCarry{}, now).due(c.control, now.Add(c.after))
		require.Equal(t, c.due, due, what)
	}
}
