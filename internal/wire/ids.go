package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// QueueName is the last element of a queue's URL.
func QueueName(url string) string { return url[strings.LastIndex(url, "/")+1:] }

// TaskID is the workflow ID of a run of a task.
func TaskID(taskID string, runID int64) string { return fmt.Sprintf("task/%s/%d", taskID, runID) }

// Workflow IDs that contract and tools rely on. Each has one function that makes
// it; those that are taken apart have a twin here as well.

// ThroughputID is the ID of the budget of a resource, such as
// "dynamodb/eu-west-1/orders/read".
func ThroughputID(resource string) string { return "throughput/" + resource }

// ThroughputQueue is the task queue of the owners of budgets, which every worker of a
// scope polls, whatever its own queue is; "" is no scope.
func ThroughputQueue(scope string) string {
	if scope == "" {
		return "sluice-throughput"
	}
	return "sluice-throughput-" + scope
}

// AzureTaskQueue is where the activities of workflows on a task queue run that need
// access to Azure queues: only workers that have it poll there.
func AzureTaskQueue(taskQueue string) string { return taskQueue + "-azure" }

// ThroughputResource is the twin of ThroughputID.
func ThroughputResource(id string) (resource string, ok bool) {
	return strings.CutPrefix(id, "throughput/")
}

// ProducerID is the ID of the durable buffer in front of a stream.
func ProducerID(stream string) string { return "producer/" + stream }

// ProducerStream is the twin of ProducerID.
func ProducerStream(id string) (stream string, ok bool) { return strings.CutPrefix(id, "producer/") }

// CountID is the ID of the counter that consumes the SQS queue of this URL. It
// takes the queue's name, which is the URL's last element.
func CountID(queueURL string) string {
	return "count/" + queueURL[strings.LastIndex(queueURL, "/")+1:]
}

// ClaimID is the ID of the claimer of this name.
func ClaimID(name string) string { return "claim/" + name }

// TaskRunID is the ID of the workflow that does the work of a task.
func TaskRunID(task string) string { return task + "/run" }

// ChildID is the ID of the child workflow that is try number try of a job.
func ChildID(request, job, try string) string { return request + "/" + job + "/" + try }

// ChildOf is the twin of ChildID: which try of which job of the request a workflow
// of this ID is.
func ChildOf(request, id string) (job string, try int, ok bool) {
	rest, below := strings.CutPrefix(id, request+"/")
	job, number, _ := strings.Cut(rest, "/")
	try, err := strconv.Atoi(number)
	return job, try, below && job != "" && err == nil && try > 0
}

// PollID is the ID of the workflow that polls an activity for a watch.
func PollID(watch string) string { return watch + "/poll" }

// IngestWatchID is the ID of the watch of one generation of an ingestion's delivery.
func IngestWatchID(ingestion string, generation int) string {
	return ingestion + "/quiescence/" + strconv.Itoa(generation)
}

// GenerationID is the ID of the workflow that a `then` entry starts for a later
// generation of a Quiescence.
func GenerationID(id string, generation int) string { return id + "/" + strconv.Itoa(generation) }
