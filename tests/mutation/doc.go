// Mutation changes the code of workflows and rules, one place at a time, and sees that
// a test or a replay notices. A change that nobody notices is one that a mistake can
// make as well.
//
//	go run ./tests/mutation                  the changes that are held, some minutes
//	go run ./tests/mutation -seed 7 -n 40    others, to look for more
//
// The tree is not touched: `go test -overlay` compiles the changed file in place of the
// one that is there. A change that does not compile is passed over for the next.
package main
