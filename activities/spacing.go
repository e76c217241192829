package activities

import (
	"cmp"
	"time"
)

// An activity that only waits heartbeats every WaitingHeartbeat while things happen,
// and rarely once nothing has happened for a while: heartbeats are billed. Its
// heartbeat timeout is three times the spacing in force, which is part of how it was
// scheduled, so that a change of spacing schedules it anew.
const (
	calmAfter   = 10 * time.Minute
	CalmSpacing = time.Minute // unless the worker is set to another
)

// Calm says when and how rarely an activity heartbeats to which nothing happens.
type Calm struct {
	After   time.Duration // 0: ten minutes
	Spacing time.Duration // between two heartbeats then; 0: CalmSpacing
}

// Threshold is how long nothing must have happened.
func (c Calm) Threshold() time.Duration { return cmp.Or(c.After, calmAfter) }

// Beats is how far apart the heartbeats of an activity are to be in which nothing has
// happened for so long.
func (c Calm) Beats(quiet time.Duration) time.Duration {
	if quiet < c.Threshold() {
		return WaitingHeartbeat
	}
	return max(WaitingHeartbeat, cmp.Or(c.Spacing, CalmSpacing))
}

// SpacedTimeout is the heartbeat timeout at a spacing; one of zero is that of an
// activity about which nothing is known yet.
func SpacedTimeout(spacing time.Duration) time.Duration {
	return 3 * max(WaitingHeartbeat, spacing)
}
