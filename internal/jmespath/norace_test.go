//go:build !race

package jmespath

// slowdown: without the race detector nothing is slowed down.
const slowdown = 1
