// Package s3 describes, lists and reads objects, from an offset and through
// broken connections.
package s3
