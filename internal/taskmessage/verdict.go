package taskmessage

import "fmt"

// A Verdict says what to do with a message, before anything is done with it.
type Verdict int

// The verdicts, mildest first.
const (
	Take   Verdict = iota // claim it
	Warn                  // claim it, and say that it comes often
	Poison                // do not run it; to the poison queue
)

// Limits are the two thresholds of the dequeue count.
type Limits struct {
	Warn   int64 // warned from this delivery on
	Poison int64 // poison from this delivery on
}

// Judge decides by the number of deliveries, this one included. The excused
// ones do not count; this one always does, whatever a message says of itself.
func (l Limits) Judge(dequeueCount, excused int64) Verdict {
	switch counted := Counted(dequeueCount, excused); {
	case counted >= l.Poison:
		return Poison
	case counted >= l.Warn:
		return Warn
	default:
		return Take
	}
}

// Counted is the number of deliveries that count towards poison, at least 1.
func Counted(dequeueCount, excused int64) int64 {
	return max(1, dequeueCount-max(0, excused))
}

// TooOften is the reason of a message that Judge found to be poison.
func (l Limits) TooOften(dequeueCount, excused int64) string {
	if excused > 0 {
		return fmt.Sprintf("delivered %d times, %d of them excused; the limit is %d", dequeueCount, excused, l.Poison)
	}
	return fmt.Sprintf("delivered %d times; the limit is %d", dequeueCount, l.Poison)
}
