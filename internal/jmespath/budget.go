package jmespath

import (
	"errors"
	"math"
)

// A Budget is how many steps evaluation may still take, and how many it took. A
// step is a node of the tree or an element of a value that is looked at, some
// dozens of nanoseconds.
type Budget struct {
	left  int
	spent int
}

// NewBudget allows so many steps.
func NewBudget(steps int) *Budget { return &Budget{left: steps} }

// Unlimited allows any number of steps.
func Unlimited() *Budget { return NewBudget(math.MaxInt) }

// Spent is how many steps were taken.
func (b *Budget) Spent() int { return b.spent }

// ErrTooCostly is the error of an evaluation whose budget is spent.
var ErrTooCostly = errors.New("it takes too many steps over this much data")

// take spends n steps and reports that they were there.
func (b *Budget) take(n int) error {
	if n > b.left {
		b.spent, b.left = b.spent+b.left, 0
		return ErrTooCostly
	}
	b.spent, b.left = b.spent+n, b.left-n
	return nil
}

// reading and writing are how many steps so many bytes are worth. What is written
// takes up memory as well.
func reading(n int) int { return n/16 + 1 }
func writing(n int) int { return n/4 + 1 }
