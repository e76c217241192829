// Package countobjects keeps an exact count of the objects that are announced on an
// SQS queue, by the activity of activities/counting.
package countobjects
