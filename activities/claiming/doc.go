// Package claiming polls Azure queues for tasks, claims them and starts their
// workflows: the activities behind ClaimTasks and Task. How a queue is called is
// azurequeue's.
package claiming
