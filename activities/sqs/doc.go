// Package sqs sends messages to SQS queues.
package sqs
