package quiescence

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

// A target that changes at every poll of a second for a week costs thirteen
// reports a day, and its first nine changes of phase are told at once.
func TestReportsAreBounded(t *testing.T) {
	var r Reports
	phases := []string{Flowing, Settling}
	day := make(map[int]int)
	for i := range 7 * 24 * 3600 {
		now := epoch.Add(time.Duration(i) * time.Second)
		if phase := phases[i%2]; r.Due(phase, now) {
			r.Told(phase, now)
			day[i/86400]++
		}
		if i == 8 {
			require.Equal(t, 9, day[0])
		}
	}
	for d, n := range day {
		require.LessOrEqualf(t, n, 13, "day %d", d)
	}
}

func TestReportsOfAQuietDay(t *testing.T) {
	var r Reports
	told := 0
	for i := range 24 * 120 {
		now := epoch.Add(time.Duration(i) * 30 * time.Second)
		if r.Due(Waiting, now) {
			r.Told(Waiting, now)
			told++
		}
	}
	require.Equal(t, 4, told)
}

func TestArrivalsFitWhateverTheTime(t *testing.T) {
	var a Arrivals
	var total int64
	for i := range 1000 {
		a.Add(epoch.Add(time.Duration(i*i)*time.Second), int64(i%7+1))
		total += int64(i%7 + 1)
		require.LessOrEqual(t, len(a.Count), chartWidth)
	}
	var sum int64
	for _, n := range a.Count {
		sum += n
	}
	require.Equal(t, total, sum)
	a.Add(epoch.Add(-time.Hour), 1) // the clock of another worker
	a.Add(epoch.AddDate(200, 0, 0), 1)
	require.LessOrEqual(t, len(a.Count), chartWidth)
}

func TestArrivalsChart(t *testing.T) {
	require.Empty(t, Arrivals{}.Chart(epoch))
	var a Arrivals
	a.Add(epoch, 8)
	a.Add(epoch.Add(2*time.Second), 1)
	chart := a.Chart(epoch.Add(4 * time.Second))
	bars, caption, _ := strings.Cut(chart, "\n")
	require.Equal(t, "█·▁··", bars)
	require.Equal(t, "03:00:00 to 03:00:04 UTC, 1s a column, at most 8 in one", caption)

	before := mustJSON(t, a)
	wide := a.Chart(epoch.Add(24 * time.Hour))
	bars, _, _ = strings.Cut(wide, "\n")
	require.LessOrEqual(t, utf8.RuneCountInString(bars), chartWidth)
	require.Equal(t, before, mustJSON(t, a), "drawing changes nothing")
}
