// Package taskmessage holds the rules about one task message of an Azure
// Storage queue: how its text is read and written, when it is poison, what its
// poison copy looks like, and how an excused delivery is noted in it.
//
// It owns text and counts only. Receipts, polling and claims belong to the
// claimer in activities, which asks this package for every decision; nothing
// here knows a queue, a clock or an SDK.
package taskmessage
