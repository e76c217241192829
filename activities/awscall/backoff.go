package awscall

import (
	"time"

	"sluice/internal/backoff"
)

// Backoff is between repeats: 50 ms doubling to 10 s. Half of it is
// jitter, so that the first repeat does not come at once.
var Backoff = backoff.Policy{Base: 50 * time.Millisecond, Cap: 10 * time.Second}
