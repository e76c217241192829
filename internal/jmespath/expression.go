package jmespath

// An Expression is one that was read, ready to be evaluated any number of times,
// also by several at once.
type Expression struct{ root *node }

// Compile reads an expression. It refuses what is too long or too deep, what is
// no expression, and calls that no data could make right.
func Compile(text string) (*Expression, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	if root.op == opExpression {
		return nil, &SyntaxError{Message: "& only stands before an argument of a function"}
	}
	return &Expression{root: root}, nil
}

// Search is the expression's value over data; null where there is none. data is
// left as it is, and the value may share parts of it.
func (e *Expression) Search(data any, budget *Budget) (any, error) {
	return (&interpreter{budget: budget}).eval(e.root, data)
}

// Unordered names a part of the expression that goes through all fields of an
// object, which have no order of their own; "" where there is none.
func (e *Expression) Unordered() string {
	found := ""
	e.root.walk(true, func(n *node, _ bool) {
		switch {
		case found != "":
		case n.op == opProjectAll:
			found = "an object wildcard"
		case n.op == opFunction && (n.name == "keys" || n.name == "values"):
			found = n.name + "()"
		}
	})
	return found
}

// Path is the names of the fields that the expression begins with, as jobs, a and
// rows in `length(jobs)`'s neighbour `jobs.a.rows[0] || args`; whole says that it
// is nothing else.
func (e *Expression) Path() (names []string, whole bool) {
	whole = leading(e.root, &names)
	return names, whole
}

// leading collects the names that n begins with and reports that n is nothing
// else.
func leading(n *node, names *[]string) bool {
	switch n.op {
	case opField:
		*names = append(*names, n.name)
		return true
	case opChain:
		return leading(n.children[0], names) && leading(n.children[1], names)
	case opProject, opProjectAll, opFilter, opFlatten, opOr, opAnd, opCompare:
		leading(n.children[0], names)
	}
	return false
}
