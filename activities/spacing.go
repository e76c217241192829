package activities

import "time"

// An activity that only waits heartbeats every WaitingHeartbeat while things happen,
// and rarely once nothing has happened for CalmAfter: heartbeats are billed. Its
// heartbeat timeout is three times the spacing in force, which is part of how it was
// scheduled, so that a change of spacing schedules it anew.
const (
	CalmAfter   = 10 * time.Minute
	CalmSpacing = time.Minute // unless the worker is set to another
)

// Spacing is how far apart the heartbeats of an activity are to be in which nothing
// has happened for so long; calm is the spacing of quiet times.
func Spacing(quiet, calm time.Duration) time.Duration {
	if quiet < CalmAfter {
		return WaitingHeartbeat
	}
	return max(WaitingHeartbeat, calm)
}

// SpacedTimeout is the heartbeat timeout at a spacing; one of zero is that of an
// activity about which nothing is known yet.
func SpacedTimeout(spacing time.Duration) time.Duration {
	return 3 * max(WaitingHeartbeat, spacing)
}
