// Package recordbatch holds the rules for putting records to a Kinesis stream:
// which records are fit to be sent, how they are packed into requests, in what
// order and at what pace they go, what an answer says of each of them, and
// what of a call is settled and what is still owed.
//
// It knows no network and reads no clock. [Queue] is handed the time and
// returns decisions: the shell in package activities sends the requests that
// Next names and reports each outcome to Done.
//
// What it promises of order:
//   - records of one shard are never in two requests at once, and a record
//     that must be repeated goes back to the front, so that only a repeated
//     record may change places with its neighbours;
//   - of a call with key order, at most one unconfirmed record of a key is
//     outside, so that nothing ever overtakes.
package recordbatch
