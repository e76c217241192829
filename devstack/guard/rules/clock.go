package rules

import (
	"fmt"
	"time"
)

// SignatureTime is the layout of the time of a signature.
const SignatureTime = "20060102T150405Z"

// OffClock says in the services' words why a signature is refused that is made at
// another time than a clock's now, "" where it is no further off than most.
func OffClock(signed, now time.Time, most time.Duration) string {
	if now.Sub(signed).Abs() <= most {
		return ""
	}
	at := func(t time.Time) string { return t.UTC().Format(SignatureTime) }
	if signed.After(now) {
		return fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + %.0f min.)", at(signed), at(now.Add(most)), at(now), most.Minutes())
	}
	return fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - %.0f min.)", at(signed), at(now.Add(-most)), at(now), most.Minutes())
}
