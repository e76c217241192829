package dynamodb

import (
	"context"
	"encoding/json"
)

// Caller makes a call within the worker's share of the table's capacity;
// document and answer are the API's own JSON (DynamoDB.Call).
type Caller interface {
	Call(ctx context.Context, operation string, document json.RawMessage, priority int) (json.RawMessage, error)
}

// DefaultPriority leaves the place in the queue for capacity to DynamoDB.Call.
const DefaultPriority = 0

// CallerFunc is a function that answers the calls, in tests.
type CallerFunc func(ctx context.Context, operation string, document json.RawMessage) (json.RawMessage, error)

// Call calls the function.
func (f CallerFunc) Call(ctx context.Context, operation string, document json.RawMessage, _ int) (json.RawMessage, error) {
	return f(ctx, operation, document)
}
