// Package objectrecords reads the records of an object one by one, in constant
// memory: its lines, the elements of a JSON array, or the rows of a CSV file,
// plain or compressed. It tells of each where it ends in the decoded text, so
// that reading can go on from there. It also makes what a stream needs of a
// record: its partition key and its envelope.
//
// It knows no store and no stream; package activities opens objects and puts
// records.
package objectrecords
