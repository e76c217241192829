// Package dynamodb makes DynamoDB calls from their own documents, within the
// worker's share of the table's provisioned throughput. It owns the scheduler that
// decides when a call goes out; what a call costs is internal/throughput's.
package dynamodb
