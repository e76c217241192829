//go:build race

package jmespath

// slowdown is how many times as long code may take under the race detector.
const slowdown = 20
