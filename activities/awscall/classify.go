package awscall

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"sluice/activities"
)

// Kind is what an error of a service means for whoever got it.
type Kind int

// The kinds, from "ask again later" to "never again".
const (
	Throttle    Kind = iota // capacity exceeded: slow down, then repeat
	Transient               // repeat after a while
	Credentials             // expired, not known yet, or signed by a wrong clock: see Access
	Condition               // a condition was false
	Cancelled               // a transaction, for the reasons it tells
	Conflict                // the state of the target does not allow it, or a quota
	NotFound                // no such target
	Denied                  // not allowed
	TooLarge                // over a limit of size
	Permanent               // the request is wrong
)

// types are the kinds as types of our errors. Conditions and cancelled transactions
// are DynamoDB's, which looks at the reasons.
var types = map[Kind]string{ //nolint:gochecknoglobals // a constant table
	Throttle: activities.TypeThrottled, Transient: activities.TypeUnavailable, Credentials: activities.TypeUnavailable,
	Condition: activities.TypeConditionFailed, Cancelled: activities.TypeConditionFailed,
	Conflict: activities.TypeConflict, NotFound: activities.TypeNotFound, Denied: activities.TypeAccessDenied,
	TooLarge: activities.TypeTooLarge, Permanent: activities.TypeInvalidInput,
}

// A Verdict says what an error means.
type Verdict struct {
	Kind Kind
	// Applied is true where the service may have done the work all the same, so
	// that a write which must not be repeated stays in doubt.
	Applied bool
}

// codes is the one table of error codes, by what is left of their name when the
// namespace in front and "Exception", "Error" or "Fault" at the end are taken
// off, since services and their stand-ins spell them in all these ways. The SDK's
// own lists of throttles and transient errors come on top. None of these has done the
// work but where mayBeApplied says so.
var codes = withSDK(map[Kind][]string{ //nolint:gochecknoglobals // a constant table
	Throttle: {
		"LimitExceeded", "DBProvisioningExceeded", "DBLimitExceeded", "LimitExceededThrottling",
		"KMSThrottling", "KmsThrottled", "OverLimit", "ReducedThroughput",
	},
	Transient: {
		"InternalServer", "Internal", "InternalFailure", "ServiceUnavailable", "ServiceUnavailableCode", "ServerBusy",
		"ReplicatedWriteConflict", "TransactionInProgress", "TransactionConflict", "OperationAborted",
	},
	Credentials: {
		"ExpiredToken", "RequestExpired", "TokenRefreshRequired",
		"UnrecognizedClient", "InvalidClientTokenId", "InvalidAccessKeyId", "InvalidToken",
		"RequestTimeTooSkewed", "RequestInTheFuture",
	},
	Condition: {"ConditionalCheckFailed"},
	Cancelled: {"TransactionCanceled"},
	Conflict: {
		"ResourceInUse", "TableInUse", "TableAlreadyExists", "BackupInUse", "PreconditionFailed", "ConditionalRequestConflict",
		"InvalidObjectState", "BucketAlreadyExists", "BucketAlreadyOwnedByYou", "QueueDeletedRecently", "QueueNameExists",
		"KMSDisabled", "KMSInvalidState", "ServiceQuotaExceeded",
	},
	NotFound: {
		"ResourceNotFound", "TableNotFound", "NoSuchKey", "NoSuchBucket", "NoSuchVersion", "NotFound",
		"QueueDoesNotExist", "NonExistentQueue", "KMSNotFound",
	},
	Denied: {
		"AccessDenied", "AllAccessDisabled", "Forbidden", "IncompleteSignature", "InvalidSignature", "SignatureDoesNotMatch", "AuthFailure",
		"MissingAuthentication", "MissingAuthenticationToken", "NotAuthorized", "UnauthorizedAccess", "OptInRequired",
		"KMSAccessDenied", "KMSOptInRequired", "AccountProblem", "NotSignedUp", "InvalidPayer",
	},
	TooLarge: {"EntityTooLarge", "RequestEntityTooLarge", "MaxMessageLengthExceeded", "BatchRequestTooLong"},
})

// withSDK turns the table round, over what the SDK knows.
func withSDK(ours map[Kind][]string) map[string]Kind {
	table := map[string]Kind{}
	for code := range retry.DefaultThrottleErrorCodes {
		table[CodeName(code)] = Throttle
	}
	for code := range retry.DefaultRetryableErrorCodes {
		table[CodeName(code)] = Transient
	}
	for kind, names := range ours {
		for _, name := range names {
			table[name] = kind
		}
	}
	return table
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

// quota recognizes, by its words, a limit that is not over in a while: the code is
// the one of too many calls at once.
var (
	quota      = regexp.MustCompile(`(?i)\b(utc day|per day|per account|a limit of|quota|cannot exceed|decreases are limited)\b`)
	concurrent = regexp.MustCompile(`(?i)\b(simultaneous(ly)?|concurrent(ly)?|at the same time|per second|rate)\b`)
)

// Classify decides by the code, as the service or a stand-in spells it, by the
// message where one code means two things, and, where the code is none it knows, by
// the HTTP status (0: no answer came): an unknown 5xx is transient, an unknown 4xx
// permanent.
func Classify(status int, code, message string) Verdict {
	name := CodeName(code)
	if name == "LimitExceeded" && quota.MatchString(message) && !concurrent.MatchString(message) {
		return Verdict{Kind: Conflict}
	}
	if kind, ok := codes[name]; ok {
		return Verdict{Kind: kind, Applied: mayBeApplied[name]}
	}
	switch activities.StatusType(status) {
	case activities.TypeThrottled:
		return Verdict{Kind: Throttle}
	case activities.TypeUnavailable:
		return Verdict{Kind: Transient, Applied: true}
	case activities.TypeAccessDenied:
		return Verdict{Kind: Denied}
	case activities.TypeNotFound:
		return Verdict{Kind: NotFound}
	case activities.TypeConflict:
		return Verdict{Kind: Conflict}
	case activities.TypeTooLarge:
		return Verdict{Kind: TooLarge}
	default:
		return Verdict{Kind: Permanent}
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
		switch Classify(400, r.Code, r.Message).Kind {
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
