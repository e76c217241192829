package throughput

import "strings"

// Kind is what an error of the service means for whoever got it.
type Kind int

// The kinds, from "ask again later" to "never again".
const (
	Throttle    Kind = iota // capacity exceeded: slow down, then repeat
	Transient               // repeat after a while
	Credentials             // fetch them again and repeat
	Condition               // a condition was false
	Cancelled               // a transaction, for the reasons it tells
	Conflict                // the state of the table does not allow it
	NotFound                // no such table
	Denied                  // not allowed
	Permanent               // the request is wrong
)

// A Verdict says what an error means.
type Verdict struct {
	Kind Kind
	// Applied is true where the service may have done the work all the same, so
	// that a write which must not be repeated stays in doubt.
	Applied bool
}

// codes is the one table of error codes, by what is left of their name when the
// namespace in front and "Exception", "Error" or "Fault" at the end are taken
// off, since services and their stand-ins spell them in all these ways (D16).
// None of these has done the work but where mayBeApplied says so.
var codes = map[string]Kind{ //nolint:gochecknoglobals // a constant table
	"ProvisionedThroughputExceeded": Throttle,
	"Throttling":                    Throttle,
	"Throttled":                     Throttle,
	"RequestThrottled":              Throttle,
	"TooManyRequests":               Throttle,
	"RequestLimitExceeded":          Throttle,
	"BandwidthLimitExceeded":        Throttle,
	"LimitExceeded":                 Throttle, // too many changes of tables at once
	"SlowDown":                      Throttle,
	"PriorRequestNotComplete":       Throttle,
	"EC2Throttled":                  Throttle,
	"DBProvisioningExceeded":        Throttle,
	"DBLimitExceeded":               Throttle,
	"LimitExceededThrottling":       Throttle,

	"InternalServer":          Transient,
	"Internal":                Transient,
	"InternalFailure":         Transient,
	"ServiceUnavailable":      Transient,
	"ServiceUnavailableCode":  Transient,
	"RequestTimeout":          Transient,
	"ReplicatedWriteConflict": Transient,
	"TransactionInProgress":   Transient,
	"TransactionConflict":     Transient,

	"ExpiredToken":       Credentials,
	"RequestExpired":     Credentials,
	"UnrecognizedClient": Credentials,

	"ConditionalCheckFailed":     Condition,
	"TransactionCanceled":        Cancelled,
	"ResourceInUse":              Conflict,
	"TableInUse":                 Conflict,
	"TableAlreadyExists":         Conflict,
	"BackupInUse":                Conflict,
	"ResourceNotFound":           NotFound,
	"TableNotFound":              NotFound,
	"AccessDenied":               Denied,
	"IncompleteSignature":        Denied,
	"InvalidSignature":           Denied,
	"InvalidClientTokenId":       Denied,
	"MissingAuthentication":      Denied,
	"MissingAuthenticationToken": Denied,
	"NotAuthorized":              Denied,
	"OptInRequired":              Denied,
}

// mayBeApplied are those codes after which nobody knows whether the work was done.
var mayBeApplied = map[string]bool{ //nolint:gochecknoglobals // a constant table
	"InternalServer":        true,
	"Internal":              true,
	"InternalFailure":       true,
	"ServiceUnavailable":    true,
	"RequestTimeout":        true,
	"TransactionInProgress": true,
}

// Classify decides by the code, as the service or a stand-in spells it, and,
// where the code is none it knows, by the HTTP status (0: no answer came): an
// unknown 5xx is transient, an unknown 4xx permanent.
func Classify(status int, code string) Verdict {
	name := CodeName(code)
	if kind, ok := codes[name]; ok {
		return Verdict{Kind: kind, Applied: mayBeApplied[name]}
	}
	switch {
	case status == 429:
		return Verdict{Kind: Throttle}
	case status == 408:
		return Verdict{Kind: Transient, Applied: true}
	case status == 401, status == 403:
		return Verdict{Kind: Denied}
	case status >= 400 && status < 500:
		return Verdict{Kind: Permanent}
	default:
		return Verdict{Kind: Transient, Applied: true}
	}
}

// CodeName reduces an error code to the last part of its name:
// "com.amazonaws.dynamodb.v20120810#RequestLimitExceeded" is
// "RequestLimitExceeded", "ThrottlingException:http://…" is "Throttling".
func CodeName(code string) string {
	code, _, _ = strings.Cut(code, ":")
	code = code[strings.LastIndexAny(code, "#./")+1:]
	for _, end := range []string{"Exception", "Error", "Fault"} {
		if name, ok := strings.CutSuffix(code, end); ok && name != "" {
			return name
		}
	}
	return code
}

// A Reason is why an operation of a cancelled transaction failed; Code "None"
// where it did not.
type Reason struct {
	Code    string `json:"Code"`
	Message string `json:"Message,omitempty"`
}

// Cancellation decides what the reasons of a cancelled transaction mean together:
// a false condition anywhere is final, a reason that no repeat can mend too, and
// else the transaction is worth repeating. throttled is the number of operations
// that were refused for want of capacity. A transaction that is cancelled without
// any reason has nothing against it and is repeated.
func Cancellation(reasons []Reason) (kind Kind, throttled int) {
	condition, final := false, false
	for _, r := range reasons {
		if r.Code == "" || r.Code == "None" {
			continue
		}
		switch Classify(400, r.Code).Kind {
		case Throttle:
			throttled++
		case Transient:
		case Condition:
			condition = true
		default:
			final = true
		}
	}
	switch {
	case condition:
		return Condition, throttled
	case final:
		return Permanent, throttled
	case throttled > 0:
		return Throttle, throttled
	default:
		return Transient, 0
	}
}

// ReasonsIn reads the codes that older forms of the error tell in its message
// only: "Transaction cancelled, … reasons [None, ConditionalCheckFailed]".
func ReasonsIn(message string) (reasons []Reason) {
	open, end := strings.LastIndexByte(message, '['), strings.LastIndexByte(message, ']')
	if open < 0 || end < open {
		return nil
	}
	for _, code := range strings.Split(message[open+1:end], ",") {
		if code = strings.TrimSpace(code); code != "" {
			reasons = append(reasons, Reason{Code: code})
		}
	}
	return reasons
}
