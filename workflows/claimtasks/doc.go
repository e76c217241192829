// Package claimtasks claims tasks from Azure queues, by priority and within a
// capacity. The polling is activities/claiming's; here are the books.
package claimtasks
