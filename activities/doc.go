// Package activities does Sluice's work on the outside world: it calls DynamoDB
// within its provisioned capacity, puts records to Kinesis, reads objects from
// S3, counts what lands there, watches for quiet, and claims messages from Azure
// queues.
//
// A file per system holds a struct with the clients it needs as fields and the
// activities as its methods. The worker fills the structs and hands them to
// Register; workflows name an activity by its registered name and never
// construct one.
//
// An activity may run more than once for one call, so each says in its comment
// what a repeat does. It waits about a second at most, and interruptibly; a
// longer wait is Temporal's: the attempt ends with a typed error (errors.go)
// that carries the delay. What a failed attempt achieved travels to the next one
// as its checkpoint (checkpoint.go).
//
// The arithmetic behind these calls (budgets, packing, quiet, poison) is in
// internal/, where it is tested without a network.
package activities
