package quiescence_test

import (
	"fmt"
	"time"

	"sluice/internal/quiescence"
)

// A target is polled until three polls in a row have found nothing new.
func ExampleState_Decide() {
	rule := quiescence.DefaultRule()
	rule.Repeats = 3
	var state quiescence.State
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, count := range []int64{0, 5, 8, 8, 8, 8} {
		reading := quiescence.Reading{Version: fmt.Sprint(count), Count: count, Present: count > 0}
		state.Observe(rule, reading, now, now)
		fmt.Printf("%s %d %s %q\n", now.Format(time.TimeOnly), count, state.Phase(), state.Decide(rule, now))
		now = state.NextPollAt
	}
	// Output:
	// 00:00:00 0 WAITING ""
	// 00:00:30 5 FLOWING ""
	// 00:01:00 8 FLOWING ""
	// 00:01:30 8 SETTLING ""
	// 00:02:00 8 SETTLING ""
	// 00:02:30 8 SETTLING "quiet"
}
