// Package quiescence decides when something that is polled has fallen quiet. It
// owns the rule (Rule), what has been seen so far (State) and the decision that
// follows from both (Decide); it polls nothing and reads no clock: every function
// of time is given the time.
//
// The polling activity keeps a State in its heartbeat and hands it to its
// successor, and so does the workflow when it continues as new; a State is
// therefore small (under 4 KiB) however long the watch and however many objects
// it saw.
package quiescence
