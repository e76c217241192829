// Package throughput keeps the budget of a table or index and a direction, from
// which all workers of a fleet lease their shares. How it is shared out is
// internal/throughput's.
package throughput
