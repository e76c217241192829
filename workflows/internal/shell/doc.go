// Package shell is what every workflow here does in the same way: decode, show,
// wait. It knows none of them.
package shell
