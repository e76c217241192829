package harness

import (
	"context"
	"log"
	"testing"
)

// A Program lets a program, such as a benchmark, use the harness. Close ends
// what was started for it; a fatal error closes it and ends the program.
type Program struct {
	testing.TB
	cleanups []func()
}

// Helper, Failed, Context, Cleanup, Logf, Errorf, Fatal and Fatalf are what the harness
// needs of a test.
func (p *Program) Helper() {}

// Failed is false: a program that fails ends.
func (p *Program) Failed() bool { return false }

// Context does not end by itself.
func (p *Program) Context() context.Context { return context.Background() }

// Cleanup has f called by Close, the last first.
func (p *Program) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

// Logf writes to standard error.
func (p *Program) Logf(format string, args ...any) { log.Printf(format, args...) }

// Errorf writes to standard error: what it tells of does not end the program.
func (p *Program) Errorf(format string, args ...any) { log.Printf(format, args...) }

// Fatal ends the program.
func (p *Program) Fatal(args ...any) { p.Close(); log.Fatal(args...) }

// Fatalf ends the program.
func (p *Program) Fatalf(format string, args ...any) { p.Close(); log.Fatalf(format, args...) }

// Close ends what was started.
func (p *Program) Close() {
	for len(p.cleanups) > 0 {
		last := len(p.cleanups) - 1
		f := p.cleanups[last]
		p.cleanups = p.cleanups[:last]
		f()
	}
}
