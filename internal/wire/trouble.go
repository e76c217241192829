package wire

import "sluice/internal/errortype"

// SignalTrouble is how an activity tells its workflow what it fails at again and
// again, or that it goes on. It is for workflows of ours, which can't know of the
// repeats inside an activity, nor of Temporal's.
const SignalTrouble = "trouble"

// TroubleMessage is its input. Trouble is none when the activity goes on.
type TroubleMessage struct {
	ActivityID string            `json:"activityId"`
	Activity   string            `json:"activity"` // its type
	Trouble    errortype.Trouble `json:"trouble"`
}

// IsOwnWorkflow reports that workflows of this type listen to SignalTrouble.
func IsOwnWorkflow(workflowType string) bool {
	switch workflowType {
	case TypeRequest, TypeResumeSuspended, TypeThroughput, TypeProducer, TypeQuiescence,
		TypeCountObjects, TypeClaimTasks, TypeTask, TypeIngest:
		return true
	default:
		return false
	}
}
