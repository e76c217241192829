package jobchain

import "sluice/internal/errortype"

// A Failure is how a try ended without success.
type Failure struct {
	Type          string // of the error
	NonRetryable  bool   // whoever made the error says so
	HeartbeatLost bool   // no error came: its worker is gone
}

// verdict is what a failure means: by itself, and after a suspension asked the
// try to stop.
type verdict struct{ unasked, asked Kind }

// verdicts is the table of error types. A suspension excuses every failure but
// one: a write that may have been applied is not sent again, whoever asked for
// what meanwhile.
var verdicts = map[string]verdict{
	errortype.Ambiguous: {Final, Final},

	errortype.WorkerStopping: {Interrupted, Paused},
	errortype.Throttled:      {Refused, Paused},
	errortype.Unavailable:    {Refused, Paused},

	errortype.InvalidInput:    {Final, Paused},
	errortype.ConditionFailed: {Final, Paused},
	errortype.Conflict:        {Final, Paused},
	errortype.NotFound:        {Final, Paused},
	errortype.AccessDenied:    {Final, Paused},
	errortype.TooLarge:        {Final, Paused},
	errortype.WorkerLost:      {Final, Paused},
	errortype.Expired:         {Final, Paused},
	errortype.RequestFailed:   {Final, Paused},
}

// The verdicts on what is not in the table.
var (
	heartbeatLost = verdict{Lost, Paused}
	nonRetryable  = verdict{Final, Paused}
	retryable     = verdict{Failed, Paused}
)

func (f Failure) verdict() verdict {
	known, ok := verdicts[f.Type]
	switch {
	case f.HeartbeatLost:
		return heartbeatLost
	case ok:
		return known
	case f.NonRetryable:
		return nonRetryable
	default:
		return retryable
	}
}

// Judge is what a failure means for its job; asked tells that a suspension had
// asked the try to stop.
func Judge(f Failure, asked bool) Kind {
	v := f.verdict()
	if asked {
		return v.asked
	}
	return v.unasked
}

// KnownType reports that errors of this type are made by activities of ours.
func KnownType(errType string) bool {
	_, ok := verdicts[errType]
	return ok
}
