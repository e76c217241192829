package jmespath

// operation is what a node does with the value that it is given.
type operation uint8

const (
	opCurrent    operation = iota // the value itself
	opField                       // name
	opIndex                       // bounds.start
	opSlice                       // bounds
	opLiteral                     // literal
	opChain                       // children[1] of the value of children[0]
	opProject                     // children[1] of each element of children[0]
	opProjectAll                  // the same of each value of an object
	opFilter                      // the same of those for which children[2] holds
	opFlatten                     // children[0], lists in it opened
	opList                        // a list of all children
	opObject                      // an object of all children by their key
	opOr                          // the first child that holds, or else the last
	opAnd                         // the first child that does not hold, or else the last
	opNot                         // whether children[0] does not hold
	opCompare                     // children by comparator name
	opFunction                    // function name of children
	opExpression                  // &children[0], for the function to evaluate
)

// node is a node of the tree of an expression.
type node struct {
	op       operation
	name     string    // of a field, a function or a comparator
	key      string    // in the opObject above it
	function *function // opFunction
	literal  any
	bounds   *slice
	children []*node
}

// slice is [start:stop:step]; nil is not given.
type slice struct{ start, stop, step *int }

// walk calls visit for a node and all below it. root says of each whether it is
// given the data itself, not a part of it.
func (n *node) walk(root bool, visit func(n *node, root bool)) {
	visit(n, root)
	for i, child := range n.children {
		child.walk(root && n.givesOn(i), visit)
	}
}

// givesOn reports that child i is given what the node is given.
func (n *node) givesOn(i int) bool {
	switch n.op {
	case opChain, opProject, opProjectAll, opFilter:
		return i == 0
	case opExpression:
		return false
	default:
		return true
	}
}
