package jmespath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Limits of an expression. What is nested is what stands in brackets, braces or
// parentheses, behind ! or &, or to the right of a projection.
const (
	MaxLength = 4 << 10 // bytes
	MaxDepth  = 50      // levels
)

// A SyntaxError says where an expression stops to be one.
type SyntaxError struct {
	At      int // bytes from the beginning
	Message string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("at character %d: %s", e.At+1, e.Message) }

// binding says how strongly a token binds what stands on its left; 0 ends it.
var binding = map[kind]int{
	"|": 1, "||": 2, "&&": 3, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5,
	"[]": 9, "*": 20, "[?": 21, ".": 40, "!": 45, "{": 50, "[": 55, "(": 60,
}

// bindsProjection is the least binding that goes on with a projection.
const bindsProjection = 10

// parser builds the tree of an expression by precedence.
type parser struct {
	tokens []token
	at     int
	depth  int
}

func parse(text string) (*node, error) {
	if len(text) > MaxLength {
		return nil, fmt.Errorf("%d bytes; at most %d", len(text), MaxLength)
	}
	all, err := tokens(text)
	if err != nil {
		return nil, err
	}
	p := parser{tokens: all}
	root, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	if p.peek() != endOfText {
		return nil, p.unexpected()
	}
	return root, nil
}

func (p *parser) peek() kind { return p.tokens[p.at].kind }

// ahead is the kind of the token after the present one.
func (p *parser) ahead() kind { return p.tokens[min(p.at+1, len(p.tokens)-1)].kind }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != endOfText {
		p.at++
	}
	return t
}

// accept takes a token of kind k if it is next.
func (p *parser) accept(k kind) bool {
	if p.peek() != k {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(k kind) error {
	if !p.accept(k) {
		return p.unexpected()
	}
	return nil
}

func (p *parser) unexpected() error {
	t := p.tokens[p.at]
	what := string(t.kind)
	switch t.kind {
	case endOfText:
	case number, name, quotedName, rawString, jsonLiteral:
		what += fmt.Sprintf(" (%s)", strconv.Quote(t.text))
	default:
		what = strconv.Quote(what)
	}
	return &SyntaxError{At: t.at, Message: "unexpected " + what}
}

// nested reads something one level deeper.
func (p *parser) nested(read func() (*node, error)) (*node, error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, &SyntaxError{At: p.tokens[p.at].at, Message: fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
	}
	defer func() { p.depth-- }()
	return read()
}

// expression reads what binds more strongly than the given strength.
func (p *parser) expression(strength int) (*node, error) {
	left, err := p.prefix()
	for err == nil && strength < binding[p.peek()] {
		left, err = p.infix(left)
	}
	return left, err
}

// nestedExpression reads an expression one level deeper.
func (p *parser) nestedExpression(strength int) (*node, error) {
	return p.nested(func() (*node, error) { return p.expression(strength) })
}

// prefix reads what stands at the beginning of an expression.
func (p *parser) prefix() (*node, error) {
	t := p.tokens[p.at]
	switch t.kind {
	case name, quotedName:
		p.take()
		if t.kind == quotedName && p.peek() == "(" {
			return nil, &SyntaxError{At: t.at, Message: "a function's name has no quotes"}
		}
		return &node{op: opField, name: t.text}, nil
	case rawString:
		p.take()
		return &node{op: opLiteral, literal: t.text}, nil
	case jsonLiteral:
		p.take()
		return literal(t)
	case "@":
		p.take()
		return &node{op: opCurrent}, nil
	case "*":
		p.take()
		return p.project(opProjectAll, &node{op: opCurrent}, "*")
	case "[?", "[]":
		return p.infix(&node{op: opCurrent})
	case "[":
		if next := p.ahead(); next == number || next == ":" || next == "*" && p.tokens[p.at+2].kind == "]" {
			return p.infix(&node{op: opCurrent})
		}
		return p.list()
	case "{":
		return p.object()
	case "&", "!":
		p.take()
		op := opNot
		if t.kind == "&" {
			op = opExpression
		}
		child, err := p.nestedExpression(binding[t.kind])
		return &node{op: op, children: []*node{child}}, err
	case "(":
		p.take()
		inner, err := p.nestedExpression(0)
		if err == nil {
			err = p.expect(")")
		}
		return inner, err
	}
	return nil, p.unexpected()
}

func literal(t token) (*node, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(t.text)))
	decoder.UseNumber()
	n := &node{op: opLiteral}
	err := decoder.Decode(&n.literal)
	if err == nil && decoder.More() {
		err = fmt.Errorf("more than one value")
	}
	if err != nil {
		return nil, &SyntaxError{At: t.at, Message: fmt.Sprintf("a literal that is not JSON: %v", err)}
	}
	return n, nil
}

// infix reads what goes on from left.
func (p *parser) infix(left *node) (*node, error) {
	t := p.take()
	switch t.kind {
	case ".":
		if p.accept("*") {
			return p.project(opProjectAll, left, "*")
		}
		right, err := p.afterDot(binding["."])
		return chain(left, right), err
	case "|":
		right, err := p.expression(binding["|"])
		return chain(left, right), err
	case "||", "&&":
		op := opOr
		if t.kind == "&&" {
			op = opAnd
		}
		right, err := p.expression(binding[t.kind])
		return &node{op: op, children: []*node{left, right}}, err
	case "==", "!=", "<", "<=", ">", ">=":
		right, err := p.expression(binding[t.kind])
		return &node{op: opCompare, name: string(t.kind), children: []*node{left, right}}, err
	case "[]":
		return p.project(opProject, &node{op: opFlatten, children: []*node{left}}, "[]")
	case "[?":
		return p.filter(left)
	case "[":
		return p.bracket(left)
	case "(":
		return p.call(left, t)
	}
	p.at--
	return nil, p.unexpected()
}

func chain(left, right *node) *node { return &node{op: opChain, children: []*node{left, right}} }

// afterDot reads what may follow a dot. A list or an object ends there, however
// weak the strength: so the reference implementations have it.
func (p *parser) afterDot(strength int) (*node, error) {
	switch p.peek() {
	case name, quotedName, "*":
		return p.expression(strength)
	case "[":
		return p.list()
	case "{":
		return p.object()
	}
	return nil, p.unexpected()
}

// project makes a projection of left; what follows is done with each element.
func (p *parser) project(op operation, left *node, by kind) (*node, error) {
	right, err := p.projected(binding[by])
	return &node{op: op, children: []*node{left, right}}, err
}

func (p *parser) projected(strength int) (*node, error) {
	switch next := p.peek(); {
	case binding[next] < bindsProjection:
		return &node{op: opCurrent}, nil
	case next == "[", next == "[?":
		return p.nestedExpression(strength)
	case next == ".":
		p.take()
		return p.nested(func() (*node, error) { return p.afterDot(strength) })
	}
	return nil, p.unexpected()
}
