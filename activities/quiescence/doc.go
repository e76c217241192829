// Package quiescence polls what a Quiescence workflow watches. When a target has
// fallen quiet is decided in internal/quiescence.
package quiescence
