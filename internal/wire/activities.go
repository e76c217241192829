package wire

import (
	"encoding/json"
	"strings"

	"sluice/internal/taskclaim"
)

// Activity is an activity by the name under which it is registered, with its input
// and output. Who calls it and who registers it go through the same reference, so
// that the compiler holds them together.
type Activity[In, Out any] struct{ Name string }

// None is the output of an activity that has none.
type None struct{}

// Activities of ClaimTasks and Task.
var (
	ClaimPoll     = Activity[PollInput, PollReport]{Name: "ClaimTasks.Poll"}
	TaskReclaim   = Activity[TaskRef, taskclaim.Lease]{Name: "Task.Reclaim"}
	TaskResolve   = Activity[ResolveInput, None]{Name: "Task.Resolve"}
	TaskFinished  = Activity[FinishedInput, None]{Name: "Task.Finished"}
	TaskTerminate = Activity[FollowInput, None]{Name: "Task.Terminate"}
)

// Activities of Request and ResumeSuspended.
var (
	FollowWorkflow     = Activity[FollowInput, Followed]{Name: "Request.Follow"}
	JoinChild          = Activity[JoinInput, Joined]{Name: "Request.JoinChild"}
	LookAtChild        = Activity[FollowInput, ChildLook]{Name: "Request.LookAtChild"}
	RequestRunningTime = Activity[FollowInput, RunningTime]{Name: "Request.RunningTime"}
	ReadHeartbeats     = Activity[HeartbeatsInput, Heartbeats]{Name: "Request.ReadHeartbeats"}
	ListSuspended      = Activity[ListSuspendedInput, Suspended]{Name: "Requests.ListSuspended"}
	ResumeRequest      = Activity[ResumeInput, Resumed]{Name: "Requests.Resume"}
)

// Activities of Throughput.
var (
	DescribeCapacity = Activity[ProvisionedInput, ProvisionedOutput]{Name: "DynamoDB.DescribeCapacity"}
)

// Activities that jobs use, besides the operations of the services.
var (
	AwaitActive = Activity[AwaitActiveInput, json.RawMessage]{Name: DynamoDBPrefix + "AwaitActive"}
)

// Activities of Producer.
var (
	PutBatch = Activity[PutBatchInput, PutBatchOutput]{Name: "Kinesis.PutBatch"}
)

// Activities of Quiescence and CountObjects.
var (
	WatchQuiescence = Activity[WatchInput, WatchReport]{Name: "Quiescence.Watch"}
	HTTPTrigger     = Activity[TriggerInput, None]{Name: "HTTP.Trigger"}
	CountEvents     = Activity[CountInput, CountReport]{Name: "S3Events.Count"}
)

// Activities of Ingest.
var (
	IngestPrepare    = Activity[IngestPlan, IngestPrepared]{Name: "Ingest.Prepare"}
	IngestJoinCount  = Activity[IngestPlan, None]{Name: "Ingest.JoinCount"}
	IngestLeaveCount = Activity[IngestPlan, None]{Name: "Ingest.LeaveCount"}
	IngestEnqueue    = Activity[IngestPlan, None]{Name: "Ingest.Enqueue"}
	IngestAwaitTasks = Activity[IngestAwait, IngestTasks]{Name: "Ingest.AwaitTasks"}
	IngestSummarise  = Activity[IngestSummariseInput, IngestSummary]{Name: "Ingest.Summarise"}
	TemporalTell     = Activity[TellInput, None]{Name: "Temporal.Tell"}
)

// DoctorLook tells how a worker sees the outside world.
var DoctorLook = Activity[DoctorInput, DoctorReport]{Name: "Doctor.Look"}

// Activities that the jobs of a request name; they read their documents themselves.
const (
	DynamoDBPrefix    = "DynamoDB." // and the operation
	KinesisPutRecords = "Kinesis.PutRecords"
	KinesisPutObject  = "Kinesis.PutObject"
	S3Describe        = "S3.Describe"
	S3List            = "S3.List"
	SQSSend           = "SQS.Send"
	AzureQueueSend    = "AzureQueue.Send"
	HTTPCall          = "HTTP.Call"
)

// OwnJob reports that an activity that a job names is Sluice's own: it hands over its
// checkpoint as it ends.
func OwnJob(activity string) bool {
	switch activity {
	case KinesisPutRecords, KinesisPutObject, S3Describe, S3List, SQSSend, AzureQueueSend, HTTPCall:
		return true
	default:
		return strings.HasPrefix(activity, DynamoDBPrefix)
	}
}
