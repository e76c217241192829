package jobchain

import (
	"fmt"
	"slices"
	"strings"

	"sluice/internal/document"
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
				faults.Add(path, "no job %q", cut(id, 120))
			} else if given[id] {
				faults.Add(path, "%q is given twice", id)
			}
			given[id] = true
		}
	}
	for _, cycle := range d.cycles(index) {
		ids := make([]string, len(cycle)+1)
		for n, i := range cycle {
			ids[n] = d.Jobs[i].ID
		}
		ids[len(cycle)] = ids[0]
		faults.Add(fmt.Sprintf("jobs[%d].after", cycle[0]), "cycle: %s", cut(strings.Join(ids, " after "), 1000))
	}
}

// cycles finds the loops in the order, each from the job of it that comes first
// in the list. Jobs that merely wait for a loop are in none.
func (d *Document) cycles(index map[string]int) [][]int {
	stuck := d.stuck(index)
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

// stuck tells which jobs can never start: those in a loop or behind one.
func (d *Document) stuck(index map[string]int) []bool {
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
		for _, i := range next[last] {
			if unmet[i]--; unmet[i] == 0 {
				free = append(free, i)
			}
		}
	}
	stuck := make([]bool, len(d.Jobs))
	for i, n := range unmet {
		stuck[i] = n > 0
	}
	return stuck
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
