package scheduler

import (
	"slices"
	"time"

	"sluice/internal/throughput"
)

// A meter measures how much is consumed in a second. The zero value has seen nothing.
type meter struct {
	second  time.Time                    // that is counted
	seconds [meterKeeps]throughput.Milli // the one that is counted, and those before it
	most    throughput.Milli             // in any second since it was taken
}

const meterKeeps = 5

func (m *meter) add(now time.Time, units throughput.Milli) {
	m.pass(now)
	m.seconds[0] += units
	m.most = max(m.most, m.seconds[0])
}

// pass begins another second where the one that is counted is over.
func (m *meter) pass(now time.Time) {
	passed := now.Sub(m.second)
	if passed < time.Second {
		return
	}
	for range min(passed/time.Second, meterKeeps) {
		copy(m.seconds[1:], m.seconds[:])
		m.seconds[0] = 0
	}
	m.second = now.Truncate(time.Second)
}

// take is the most since it was last taken.
func (m *meter) take() (most throughput.Milli) {
	most, m.most = m.most, 0
	return most
}

// lately is the most in any of the last few seconds.
func (m *meter) lately(now time.Time) throughput.Milli {
	m.pass(now)
	return slices.Max(m.seconds[:])
}
