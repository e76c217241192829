package workflows

import "sluice/internal/wire"

// Workflow IDs that contract and tools rely on, and the twins that take them apart.

// ThroughputID is the ID of the budget of a resource, such as
// "dynamodb/eu-west-1/orders/read".
func ThroughputID(resource string) string { return wire.ThroughputID(resource) }

// ThroughputResource is the twin of ThroughputID.
func ThroughputResource(id string) (resource string, ok bool) {
	return wire.ThroughputResource(id)
}

// ProducerID is the ID of the durable buffer in front of a stream.
func ProducerID(stream string) string { return wire.ProducerID(stream) }

// ProducerStream is the twin of ProducerID.
func ProducerStream(id string) (stream string, ok bool) {
	return wire.ProducerStream(id)
}

// CountID is the ID of the counter that consumes the SQS queue of this URL. It
// takes the queue's name, which is the URL's last element.
func CountID(queueURL string) string { return wire.CountID(queueURL) }

// ClaimID is the ID of the claimer of this name.
func ClaimID(name string) string { return wire.ClaimID(name) }

// TaskRunID is the ID of the workflow that does the work of a task.
func TaskRunID(task string) string { return wire.TaskRunID(task) }
