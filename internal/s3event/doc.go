// Package s3event turns S3 event notifications into an exact count of live
// objects. It owns how a message is read (Parse), which of two events of an
// object is the later one (Stamp), what is known of an object (Object) and what a
// batch of events makes of the ledger and the counters (Plan). It reads and
// writes no queue and no table, and is given the time.
//
// Notifications arrive at least once, late and in any order. The ledger makes the
// count exact all the same: it keeps the newest event of every object, and an
// event counts only when it is newer than what the ledger has.
package s3event
