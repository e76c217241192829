// Package jobchain holds the rules of a request: what a valid document is, which
// job runs next, what the end of a try means, and which of the messages that
// meet in one instant wins.
//
// It decides and computes; the workflow Request gathers and acts. Nothing here
// reads a clock, draws a random number or knows Temporal: instants and random
// numbers are handed in, and the same calls give the same answers on replay.
//
//	Document   the input and its validation, all faults at once
//	template   $from and $literal in a job's input
//	Chain      the jobs: states, order, tries, sequences
//	Gate       the request: suspend, resume, stop, claims, deadlines
package jobchain
