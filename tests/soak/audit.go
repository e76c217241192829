package soak

import (
	"fmt"
	"slices"
	"strings"
)

// Evidence is all that was seen in the end.
type Evidence struct {
	Journal []Entry
	Finals  []Final
	Remains Remains
}

// Breach is one thing that is not as promised.
type Breach struct{ Kind, System, What string }

func (b Breach) String() string { return b.Kind + " (" + b.System + "): " + b.What }

// Kinds of breaches.
const (
	Missing      = "missing"
	Doubled      = "doubled"
	OutOfOrder   = "out of order"
	RanAgain     = "ran again after its success"
	WrongState   = "wrong state"
	WrongFigure  = "wrong figure"
	StillRunning = "still running"
	FailedTask   = "workflow task failed"
	Left         = "left behind"
)

// Verdict is what the auditor found.
type Verdict struct {
	Breaches []Breach
	Promises int
	Effects  int
	Accepted int            // entries of the journal that were promised
	Doubles  map[string]int // that are allowed, by system
	Repeated int            // workflow tasks that failed and may
}

// Audit compares what was promised with what was seen.
func Audit(promises []Promise, seen Evidence) Verdict {
	a := &audit{Verdict: Verdict{Promises: len(promises), Doubles: map[string]int{}}, finals: map[string]Final{}, places: map[Entry][]int{}}
	for i, e := range seen.Journal {
		key := Entry{Service: e.Service, Target: e.Target, Key: e.Key}
		a.places[key] = append(a.places[key], i)
	}
	for _, f := range seen.Finals {
		a.finals[f.ID] = f
	}
	promised := map[string]bool{}
	for _, p := range promises {
		a.promise(p)
		promised[p.ID] = true
	}
	a.orders(promises)
	for _, f := range seen.Finals {
		a.history(f)
		if f.Running && !f.Lasting && !promised[f.ID] {
			a.breach(StillRunning, "", "%s, which is promised to nobody", f.ID)
		}
	}
	a.remains(seen.Remains)
	return a.Verdict
}

type audit struct {
	Verdict
	finals map[string]Final
	places map[Entry][]int // in the journal, by what was accepted
}

func (a *audit) breach(kind, system, format string, args ...any) {
	a.Breaches = append(a.Breaches, Breach{kind, system, fmt.Sprintf(format, args...)})
}

func (a *audit) promise(p Promise) {
	final, found := a.finals[p.ID]
	if !found {
		a.breach(Missing, p.System, "nothing is known of %s", p.ID)
		return
	}
	switch {
	case final.Running && !p.Lasting:
		a.breach(StillRunning, p.System, "%s in %s", p.ID, final.State)
	case len(p.States) > 0 && !slices.Contains(p.States, final.State):
		a.breach(WrongState, p.System, "%s is %s, not one of %v: %s", p.ID, final.State, p.States, final.Error)
	case final.State == "FAIL" && !strings.Contains(final.Error, p.Reason):
		a.breach(WrongState, p.System, "%s failed by %q, not by %q", p.ID, final.Error, p.Reason)
	}
	for name, wanted := range p.Figures {
		if got, ok := final.Figures[name]; !ok || got != wanted {
			a.breach(WrongFigure, p.System, "%s: %s is %d, not %d", p.ID, name, got, wanted)
		}
	}
	for _, e := range p.Effects {
		a.effect(p, final, e)
	}
}

func (e Effect) entry() Entry { return Entry{Service: e.Service, Target: e.Target, Key: e.Key} }

func (a *audit) effect(p Promise, final Final, e Effect) {
	a.Effects++
	n := len(a.places[e.entry()])
	a.Accepted += n
	what := fmt.Sprintf("%s of %s at %s %s", e.Key, p.ID, e.Service, e.Target)
	switch {
	case n == 0 && (e.Job == "" || final.Jobs[e.Job] == "COMPLETE"):
		a.breach(Missing, p.System, "%s", what)
	case e.AtMost > 0 && n > e.AtMost:
		a.breach(Doubled, p.System, "%s: %d times", what, n)
	case n > 1:
		a.Doubles[p.System] += n - 1
	}
}

// orders looks at the first place of every effect that has a group.
func (a *audit) orders(promises []Promise) {
	type group struct{ service, target, name string }
	type place struct{ sequence, at int }
	groups, systems := map[group][]place{}, map[group]string{}
	for _, p := range promises {
		for _, e := range p.Effects {
			if at := a.places[e.entry()]; e.Group != "" && len(at) > 0 {
				g := group{e.Service, e.Target, e.Group}
				groups[g], systems[g] = append(groups[g], place{e.Sequence, at[0]}), p.System
			}
		}
	}
	for g, places := range groups {
		slices.SortFunc(places, func(x, y place) int { return x.sequence - y.sequence })
		for i := 1; i < len(places); i++ {
			if places[i].at < places[i-1].at {
				a.breach(OutOfOrder, systems[g], "%s %s, %s: %d came before %d", g.service, g.target, g.name, places[i].sequence, places[i-1].sequence)
			}
		}
	}
}

// harmless are the beginnings of causes of failed workflow tasks that are no fault of
// the workflow's: something came while the worker decided, and the server asks for
// another look; or a server that was killed had handed out a task of a history of which
// it then had less. Temporal repeats both, and the auditor counts them.
var harmless = []string{"UnhandledCommand:", "ForceCloseCommand:", "WorkflowWorkerUnhandledFailure: history_events: premature end of stream"}

// history looks at what each workflow did, promised or not.
func (a *audit) history(f Final) {
	done := map[string]bool{}
	for _, t := range f.Tries {
		if done[t.Job] && !t.Success {
			a.breach(RanAgain, "", "%s: job %s", f.ID, t.Job)
		}
		done[t.Job] = done[t.Job] || t.Success
	}
	for _, cause := range f.FailedTasks {
		if !slices.ContainsFunc(harmless, func(begins string) bool { return strings.HasPrefix(cause, begins) }) {
			a.breach(FailedTask, "", "%s: %s", f.ID, cause)
			continue
		}
		a.Repeated++
	}
}

func (a *audit) remains(r Remains) {
	for what, list := range map[string][]string{"process": r.Processes, "file": r.Files} {
		for _, one := range list {
			a.breach(Left, "", "%s %s", what, one)
		}
	}
}
