// Package errortype names the types of the errors that leave Sluice
// (ApplicationError.Type) and says which are worth repeating. Every layer reads
// them here.
package errortype

// The types.
const (
	InvalidInput    = "InvalidInput"    // the document is wrong
	Throttled       = "Throttled"       // capacity exceeded; carries the delay after which to ask again
	Unavailable     = "Unavailable"     // transient: 5xx, timeout, connection
	Ambiguous       = "Ambiguous"       // a write that must not be repeated may have been applied
	ConditionFailed = "ConditionFailed" // a condition or a transaction's check was false
	Conflict        = "Conflict"        // the state does not allow it, or a stale token
	NotFound        = "NotFound"
	AccessDenied    = "AccessDenied"
	TooLarge        = "TooLarge"
	WorkerStopping  = "WorkerStopping" // the worker shuts down; another goes on from the checkpoint
	WorkerLost      = "WorkerLost"     // a job took ten workers with it in a row
	Expired         = "Expired"        // outcome of Request: a suspension outlived its TTL
	RequestFailed   = "RequestFailed"  // outcome of Request: FAIL
)

// Retryable reports whether an error of this type is worth repeating as it is.
func Retryable(errType string) bool {
	switch errType {
	case Throttled, Unavailable, WorkerStopping:
		return true
	default:
		return false
	}
}

// Final reports whether an error of this type is never repeated, whoever made it
// and whoever asks for a retry: also where a job in another language forgot to say
// so. Types that are not Sluice's are neither.
func Final(errType string) bool {
	switch errType {
	case InvalidInput, Ambiguous, ConditionFailed, Conflict, NotFound, AccessDenied,
		TooLarge, WorkerLost, Expired, RequestFailed:
		return true
	default:
		return false
	}
}
