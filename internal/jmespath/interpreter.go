package jmespath

import (
	"encoding/json"
	"fmt"
)

// interpreter evaluates a tree. It changes nothing of what it is given.
type interpreter struct{ budget *Budget }

// eval is the value of n over v.
func (in *interpreter) eval(n *node, v any) (any, error) {
	if err := in.budget.take(1); err != nil {
		return nil, err
	}
	switch n.op {
	case opCurrent:
		return v, nil
	case opField:
		object, _ := v.(map[string]any)
		return object[n.name], nil
	case opIndex:
		return index(v, *n.bounds.start), nil
	case opSlice:
		return in.slice(n, v)
	case opLiteral:
		return n.literal, nil
	case opChain:
		left, err := in.eval(n.children[0], v)
		if err != nil {
			return nil, err
		}
		return in.eval(n.children[1], left)
	case opProject, opFilter:
		return in.project(n, v)
	case opProjectAll:
		return in.projectAll(n, v)
	case opFlatten:
		return in.flatten(n, v)
	case opList:
		return in.list(n, v)
	case opObject:
		return in.object(n, v)
	case opOr, opAnd, opNot:
		return in.logic(n, v)
	case opCompare:
		return in.compare(n, v)
	case opFunction:
		return in.call(n, v)
	default: // opExpression: the function evaluates it
		return n.children[0], nil
	}
}

func index(v any, i int) any {
	list, _ := v.([]any)
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

func (in *interpreter) slice(n *node, v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, nil
	}
	start, stop, step, err := n.bounds.over(len(list))
	if err != nil {
		return nil, err
	}
	found := []any{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		found = append(found, list[i])
	}
	return found, in.budget.take(len(found))
}

// over is where a slice of a list of length elements begins, ends and how it goes.
func (s *slice) over(length int) (start, stop, step int, err error) {
	step, start, stop = 1, 0, length
	if s.step != nil {
		step = *s.step
	}
	if step == 0 {
		return 0, 0, 0, fmt.Errorf("the step of a slice can't be 0")
	}
	least, most := 0, length // what a bound may be
	if step < 0 {
		least, most = -1, length-1
		start, stop = most, least
	}
	step = min(max(step, -length-1), length+1) // no sum overflows
	within := func(bound *int, otherwise int) int {
		if bound == nil {
			return otherwise
		}
		at := *bound
		if at < 0 {
			at += length
		}
		return min(max(at, least), most)
	}
	return within(s.start, start), within(s.stop, stop), step, nil
}

// project is [*] and [?…]: what stands on the right, of each element that counts.
func (in *interpreter) project(n *node, v any) (any, error) {
	left, err := in.eval(n.children[0], v)
	list, ok := left.([]any)
	if err != nil || !ok {
		return nil, err
	}
	found := []any{}
	for _, element := range list {
		if n.op == opFilter {
			condition, err := in.eval(n.children[2], element)
			if err != nil {
				return nil, err
			}
			if !holds(condition) {
				continue
			}
		}
		if found, err = in.add(found, n.children[1], element); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (in *interpreter) projectAll(n *node, v any) (any, error) {
	left, err := in.eval(n.children[0], v)
	object, ok := left.(map[string]any)
	if err != nil || !ok {
		return nil, err
	}
	keys, err := in.keys(object)
	if err != nil {
		return nil, err
	}
	found := []any{}
	for _, key := range keys {
		if found, err = in.add(found, n.children[1], object[key]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// add adds the value of n over an element, unless it is null.
func (in *interpreter) add(found []any, n *node, element any) ([]any, error) {
	value, err := in.eval(n, element)
	if err != nil || value == nil {
		return found, err
	}
	return append(found, value), nil
}

func (in *interpreter) flatten(n *node, v any) (any, error) {
	left, err := in.eval(n.children[0], v)
	list, ok := left.([]any)
	if err != nil || !ok {
		return nil, err
	}
	flat := []any{}
	for _, element := range list {
		inner, isList := element.([]any)
		if !isList {
			inner = []any{element}
		}
		if err := in.budget.take(len(inner) + 1); err != nil {
			return nil, err
		}
		flat = append(flat, inner...)
	}
	return flat, nil
}

func (in *interpreter) list(n *node, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	list := make([]any, len(n.children))
	for i, child := range n.children {
		value, err := in.eval(child, v)
		if err != nil {
			return nil, err
		}
		list[i] = value
	}
	return list, nil
}

func (in *interpreter) object(n *node, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	object := make(map[string]any, len(n.children))
	for _, child := range n.children {
		value, err := in.eval(child, v)
		if err != nil {
			return nil, err
		}
		object[child.key] = value
	}
	return object, nil
}

func (in *interpreter) logic(n *node, v any) (any, error) {
	left, err := in.eval(n.children[0], v)
	switch {
	case err != nil:
		return nil, err
	case n.op == opNot:
		return !holds(left), nil
	case holds(left) == (n.op == opOr):
		return left, nil
	default:
		return in.eval(n.children[1], v)
	}
}

// holds says what counts as true: all but null, false and what is empty.
func holds(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return true
	}
}

func (in *interpreter) compare(n *node, v any) (any, error) {
	left, err := in.eval(n.children[0], v)
	if err != nil {
		return nil, err
	}
	right, err := in.eval(n.children[1], v)
	if err != nil {
		return nil, err
	}
	if n.name == "==" || n.name == "!=" {
		same, err := in.same(left, right)
		return same == (n.name == "=="), err
	}
	if !isNumber(left) || !isNumber(right) {
		return nil, nil
	}
	a, _, err := asNumber(left)
	if err != nil {
		return nil, err
	}
	b, _, err := asNumber(right)
	if err != nil {
		return nil, err
	}
	switch n.name {
	case "<":
		return a < b, nil
	case "<=":
		return a <= b, nil
	case ">":
		return a > b, nil
	default:
		return a >= b, nil
	}
}

func isNumber(v any) bool {
	switch v.(type) {
	case float64, json.Number:
		return true
	default:
		return false
	}
}

// same compares two values with all that is in them.
func (in *interpreter) same(a, b any) (bool, error) {
	if err := in.budget.take(1); err != nil {
		return false, err
	}
	switch a := a.(type) {
	case float64, json.Number:
		if !isNumber(b) {
			return false, nil
		}
		return sameNumber(a, b)
	case string:
		b, ok := b.(string)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		return a == b, in.budget.take(reading(len(a)))
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		for i := range a {
			if same, err := in.same(a[i], b[i]); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		return in.sameObjects(a, b)
	default:
		return a == b, nil // null and booleans; what can't be compared is no value of b
	}
}

// sameObjects goes through the keys in order: which number can't be compared is
// told the same way each time.
func (in *interpreter) sameObjects(a, b map[string]any) (bool, error) {
	keys, err := in.keys(a)
	if err != nil {
		return false, err
	}
	for _, key := range keys {
		other, there := b[key]
		if !there {
			return false, nil
		}
		if same, err := in.same(a[key], other); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}
