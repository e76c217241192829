package quiescence

import (
	"fmt"
	"strings"
	"time"
)

// chartWidth is the number of columns of the chart of arrivals, an even one.
const chartWidth = 48

// Arrivals is when how much came, in columns of equal width that grow as the
// watch does, so that a watch of any length fits.
type Arrivals struct {
	Start time.Time     `json:"start,omitzero"`
	Width time.Duration `json:"width,omitempty"` // of a column
	Count []int64       `json:"count,omitempty"`
}

// Add counts n arrivals at an instant. One before the start counts at the start.
func (a *Arrivals) Add(at time.Time, n int64) {
	if a.Width <= 0 {
		a.Start, a.Width = at, time.Second
	}
	column := max(a.column(at), 0)
	for column >= chartWidth {
		a.fold()
		column = a.column(at)
	}
	for len(a.Count) <= column {
		a.Count = append(a.Count, 0)
	}
	a.Count[column] += n
}

func (a *Arrivals) column(at time.Time) int { return int(at.Sub(a.Start) / a.Width) }

// fold makes every two columns one.
func (a *Arrivals) fold() {
	folded := make([]int64, 0, chartWidth)
	for i, n := range a.Count {
		if i%2 == 0 {
			folded = append(folded, 0)
		}
		folded[i/2] += n
	}
	a.Count, a.Width = folded, a.Width*2
}

// Chart draws the arrivals up to now as one line of bars with a caption, or
// returns "" when there were none.
func (a Arrivals) Chart(now time.Time) string {
	if len(a.Count) == 0 {
		return ""
	}
	for a.column(now) >= chartWidth {
		a.fold() // a is a copy, and fold makes new columns
	}
	var most int64
	for _, n := range a.Count {
		most = max(most, n)
	}
	var bars strings.Builder
	for i := 0; i <= max(a.column(now), len(a.Count)-1); i++ {
		bars.WriteRune(a.bar(i, most))
	}
	return fmt.Sprintf("%s\n%s to %s UTC, %s a column, at most %d in one",
		bars.String(), a.Start.UTC().Format("15:04:05"), now.UTC().Format("15:04:05"), a.Width, most)
}

func (a Arrivals) bar(column int, most int64) rune {
	levels := []rune("·▁▂▃▄▅▆▇█")
	if column >= len(a.Count) || a.Count[column] <= 0 || most <= 0 {
		return levels[0]
	}
	top := int64(len(levels) - 1)
	// Written so that counts near the largest integer do not overflow.
	level := int64(float64(a.Count[column])/float64(most)*float64(top-1)) + 1
	return levels[min(max(level, 1), top)]
}
