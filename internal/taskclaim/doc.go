// Package taskclaim holds the rules of claiming tasks: what an answer of the
// task service or a queue means for a message, when a claim must be renewed and
// when its work must have stopped, how long an idle claimer waits, how many
// tasks may start, and when the claimer's news is worth its history events.
//
// Every rule is handed the time and randomness it needs. The claimer and the
// Task workflow gather those and act on what is decided here.
package taskclaim
