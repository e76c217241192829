package jmespath

import "strconv"

func (p *parser) filter(left *node) (*node, error) {
	condition, err := p.nestedExpression(0)
	if err == nil {
		err = p.expect("]")
	}
	if err != nil {
		return nil, err
	}
	right := &node{op: opCurrent}
	if p.peek() != "[]" {
		right, err = p.projected(binding["[?"])
	}
	return &node{op: opFilter, children: []*node{left, right, condition}}, err
}

// bracket reads [n], [a:b:c] and [*] after left.
func (p *parser) bracket(left *node) (*node, error) {
	if p.accept("*") {
		if err := p.expect("]"); err != nil {
			return nil, err
		}
		return p.project(opProject, left, "*")
	}
	bounds, isSlice, err := p.slice()
	if err != nil {
		return nil, err
	}
	if !isSlice {
		return chain(left, &node{op: opIndex, bounds: bounds}), nil
	}
	return p.project(opProject, chain(left, &node{op: opSlice, bounds: bounds}), "*")
}

// slice reads up to three numbers between colons; one alone is an index.
func (p *parser) slice() (bounds *slice, isSlice bool, err error) {
	bounds = &slice{}
	for part := range 3 {
		if p.peek() == number {
			t := p.take()
			n, err := strconv.Atoi(t.text)
			if err != nil {
				return nil, false, &SyntaxError{At: t.at, Message: strconv.Quote(t.text) + " is not an index"}
			}
			*[]**int{&bounds.start, &bounds.stop, &bounds.step}[part] = &n
		} else if part == 0 && p.peek() != ":" {
			return nil, false, p.unexpected()
		}
		if part == 2 || !p.accept(":") {
			break
		}
		isSlice = true
	}
	return bounds, isSlice, p.expect("]")
}

func (p *parser) list() (*node, error) {
	p.take()
	n := &node{op: opList}
	return n, p.elements("]", func() error {
		child, err := p.nestedExpression(0)
		n.children = append(n.children, child)
		return err
	})
}

func (p *parser) object() (*node, error) {
	p.take()
	n := &node{op: opObject}
	return n, p.elements("}", func() error {
		key := p.tokens[p.at]
		if !p.accept(name) && !p.accept(quotedName) {
			return p.unexpected()
		}
		if err := p.expect(":"); err != nil {
			return err
		}
		child, err := p.nestedExpression(0)
		if err != nil {
			return err
		}
		child.key = key.text
		n.children = append(n.children, child)
		return nil
	})
}

// elements reads at least one element, up to the closing token.
func (p *parser) elements(closing kind, element func() error) error {
	for {
		if err := element(); err != nil {
			return err
		}
		if p.accept(closing) {
			return nil
		}
		if err := p.expect(","); err != nil {
			return err
		}
	}
}

// call reads the arguments of the function that left names.
func (p *parser) call(left *node, at token) (*node, error) {
	if left.op != opField {
		return nil, &SyntaxError{At: at.at, Message: "only a name can be called"}
	}
	n := &node{op: opFunction, name: left.name}
	if !p.accept(")") {
		err := p.elements(")", func() error {
			child, err := p.nestedExpression(0)
			n.children = append(n.children, child)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var err error
	n.function, err = signature(n)
	return n, err
}
