package jobchain

import (
	"fmt"
	"slices"
	"strings"

	"sluice/internal/document"
	"sluice/internal/limits"
)

func sortStrings(s []string) { slices.Sort(s) }

// checkOrder checks that every `after` names another job, once, and that no job
// waits for itself.
func (d *Document) checkOrder(faults *document.Faults, index map[string]int) {
	for i := range d.Jobs {
		given := make(map[string]bool, len(d.Jobs[i].After))
		for n, id := range d.Jobs[i].After {
			path := document.Index(document.Index("jobs", i)+".after", n)
			if _, ok := index[id]; !ok {
				faults.Add(path, "no job %q", limits.Clip(id, 120))
			} else if given[id] {
				faults.Add(path, "%q is given twice", id)
			}
			given[id] = true
		}
	}
	for _, cycle := range d.cycles(index) {
		if len(cycle) == 1 {
			faults.Add(fmt.Sprintf("jobs[%d].after", cycle[0]), "it waits for itself")
			continue
		}
		ids := make([]string, len(cycle)+1)
		for n, i := range cycle {
			ids[n] = d.Jobs[i].ID
		}
		ids[len(cycle)] = ids[0]
		faults.Add(fmt.Sprintf("jobs[%d].after", cycle[0]), "cycle: %s", limits.Clip(strings.Join(ids, " after "), 1000))
	}
}

// cycles finds the loops in the order, each from the job of it that comes first
// in the list. Jobs that merely wait for a loop are in none.
func (d *Document) cycles(index map[string]int) [][]int {
	stuck, _ := d.stuck(index)
	done := make([]bool, len(d.Jobs))
	var cycles [][]int
	for start := range d.Jobs {
		if !stuck[start] || done[start] {
			continue
		}
		at := map[int]int{}
		var walk []int
		for i := start; !done[i]; i = d.stuckBefore(index, stuck, i) {
			if from, seen := at[i]; seen {
				cycles = append(cycles, fromFirst(walk[from:]))
				break
			}
			at[i] = len(walk)
			walk = append(walk, i)
		}
		for _, i := range walk {
			done[i] = true
		}
	}
	return cycles
}

// stuck tells which jobs can never start, those in a loop or behind one, and an
// order in which the others can.
func (d *Document) stuck(index map[string]int) (stuck []bool, order []int) {
	unmet := make([]int, len(d.Jobs))
	next := make([][]int, len(d.Jobs))
	for i := range d.Jobs {
		for _, id := range d.Jobs[i].After {
			if before, ok := index[id]; ok {
				unmet[i]++
				next[before] = append(next[before], i)
			}
		}
	}
	var free []int
	for i, n := range unmet {
		if n == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		last := free[len(free)-1]
		free = free[:len(free)-1]
		order = append(order, last)
		for _, i := range next[last] {
			if unmet[i]--; unmet[i] == 0 {
				free = append(free, i)
			}
		}
	}
	stuck = make([]bool, len(d.Jobs))
	for i, n := range unmet {
		stuck[i] = n > 0
	}
	return stuck, order
}

// stuckBefore is a job that the stuck job i waits for and that is stuck itself;
// there always is one.
func (d *Document) stuckBefore(index map[string]int, stuck []bool, i int) int {
	for _, id := range d.Jobs[i].After {
		if before, ok := index[id]; ok && stuck[before] {
			return before
		}
	}
	return i
}

// fromFirst turns a cycle so that it begins with the lowest index.
func fromFirst(cycle []int) []int {
	first := slices.Index(cycle, slices.Min(cycle))
	return append(slices.Clone(cycle[first:]), cycle[:first]...)
}

// ancestors knows which jobs are complete when another starts. Most expressions
// ask for a direct predecessor; for the others a set a job is made, once, as
// bits, since ten thousand jobs may each ask for one of as many.
type ancestors struct {
	doc   *Document
	index map[string]int
	sets  [][]uint64
}

// has reports that job before, whose ID is id, is complete when job i starts.
func (a *ancestors) has(i, before int, id string) bool {
	if slices.Contains(a.doc.Jobs[i].After, id) {
		return true
	}
	if a.sets == nil {
		a.fill()
	}
	return a.sets[i] != nil && a.sets[i][before/64]&(1<<(before%64)) != 0
}

func (a *ancestors) fill() {
	a.sets = make([][]uint64, len(a.doc.Jobs))
	_, order := a.doc.stuck(a.index)
	for _, i := range order {
		a.sets[i] = make([]uint64, len(a.doc.Jobs)/64+1)
		for _, id := range a.doc.Jobs[i].After {
			before, ok := a.index[id]
			if !ok {
				continue
			}
			a.sets[i][before/64] |= 1 << (before % 64)
			for n, bits := range a.sets[before] {
				a.sets[i][n] |= bits
			}
		}
	}
}
