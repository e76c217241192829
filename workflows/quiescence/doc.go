// Package quiescence decides that what is watched has fallen quiet, and then acts.
// The rule is internal/quiescence's; what is watched is polled by
// activities/quiescence.
package quiescence
