package taskclaim

// NoAnswer is the status of a call that got no answer: a network fault or a
// timeout.
const NoAnswer = 0

// A Fate says what becomes of a message after its claim was answered.
type Fate int

// The fates.
const (
	Start Fate = iota // claimed: start the task, then delete the message
	Keep              // nobody decided: release the message and excuse this delivery
	Drop              // the service will never give this run to us: delete the message
)

// FateOf decides by the HTTP status of a claim. Only a definite refusal drops a
// message: 401 and 403 are about us and not about the task, 408 and 429 ask for
// patience, 5xx and no answer are outages, and what is not known (1xx, 3xx) is
// no reason to lose a task.
func FateOf(status int) Fate {
	switch {
	case status >= 200 && status < 300:
		return Start
	case Transient(status):
		return Keep
	case status >= 400 && status < 500:
		return Drop
	default:
		return Keep
	}
}

// Transient reports whether a call that ended with this status may succeed when
// it is repeated with nothing changed but time or credentials.
func Transient(status int) bool {
	switch status {
	case NoAnswer, 401, 403, 408, 429:
		return true
	default:
		return status >= 500
	}
}

// Resolved reports whether an outcome needs no further report: it was taken, or
// the service has already resolved the run (409) or knows it no more.
func Resolved(status int) bool {
	return !Transient(status) && status >= 200 && !(status >= 300 && status < 400)
}

// A DeleteFate says what became of a message that was to be deleted.
type DeleteFate int

// The fates of a delete.
const (
	Deleted   DeleteFate = iota // it is gone
	Stale                       // our receipt is old: the message may come back, to whoever polls next
	Repeat                      // ask again
	Forbidden                   // the credentials or signed URL are refused: renew them, then ask again
	Refused                     // it will not be deleted, however often it is asked
)

// DeleteFateOf decides by the status and the service's error code. 404 is
// success: an earlier delete whose answer was lost has done it.
func DeleteFateOf(status int, code string) DeleteFate {
	switch {
	case status >= 200 && status < 300, status == 404:
		return Deleted
	case code == "PopReceiptMismatch":
		return Stale
	case status == 401 || status == 403:
		return Forbidden
	case Transient(status):
		return Repeat
	case status >= 300 && status < 400:
		return Repeat
	default:
		return Refused
	}
}
