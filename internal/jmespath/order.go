package jmespath

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// ranks are the elements of a list, or what stands for them, as what they are
// ordered by: numbers or strings, not both.
type ranks struct {
	numbers []float64
	strings []string
}

// rank makes the ranks of a list; by is nil or what stands for an element.
func (in *interpreter) rank(list []any, by *node) (r ranks, err error) {
	for i, element := range list {
		key := element
		if by == nil {
			err = in.budget.take(1)
		} else {
			key, err = in.eval(by, element)
		}
		if err != nil {
			return r, err
		}
		text, isText := key.(string)
		f, isNumber, err := asNumber(key)
		switch {
		case err != nil:
			return r, err
		case isText && len(r.strings) == i:
			r.strings = append(r.strings, text)
		case isNumber && len(r.numbers) == i:
			r.numbers = append(r.numbers, f)
		default:
			return r, fmt.Errorf("element %d is ordered by %s; all are ordered by numbers, or all by strings", i, typeName(key))
		}
	}
	return r, nil
}

// compare orders elements i and j. What is compared of strings is charged.
func (r ranks) compare(i, j int, budget *Budget) int {
	if r.strings == nil {
		return cmp.Compare(r.numbers[i], r.numbers[j])
	}
	a, b := r.strings[i], r.strings[j]
	if budget.take(reading(min(len(a), len(b)))) != nil {
		return 0 // the end is near: whoever sorts looks at the budget
	}
	return strings.Compare(a, b)
}

// ordered is the list in the order of its ranks; equal ones stay as they are.
func (in *interpreter) ordered(list []any, by *node) (any, error) {
	if by != nil && len(list) < 2 {
		return list, nil
	}
	r, err := in.rank(list, by)
	if err != nil {
		return nil, err
	}
	if err := in.budget.take(len(list) * bits.Len(uint(len(list))) / 4); err != nil {
		return nil, err
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(r.compare(i, j, in.budget), i-j) })
	result := make([]any, len(list))
	for to, from := range order {
		result[to] = list[from]
	}
	return result, in.budget.take(1)
}

func sorted(in *interpreter, args []any) (any, error) { return in.ordered(args[0].([]any), nil) }

func sortedBy(in *interpreter, args []any) (any, error) {
	return in.ordered(args[0].([]any), args[1].(*node))
}

// most is the first of the greatest elements, or of the least where sign is -1;
// null where there are none.
func (in *interpreter) most(list []any, by *node, sign int) (any, error) {
	if by != nil && len(list) == 1 {
		return list[0], nil
	}
	r, err := in.rank(list, by)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	best := 0
	for i := range list {
		if r.compare(i, best, in.budget)*sign > 0 {
			best = i
		}
	}
	return list[best], in.budget.take(1)
}

func extreme(sign int) func(*interpreter, []any) (any, error) {
	return func(in *interpreter, args []any) (any, error) { return in.most(args[0].([]any), nil, sign) }
}

func extremeBy(sign int) func(*interpreter, []any) (any, error) {
	return func(in *interpreter, args []any) (any, error) {
		return in.most(args[0].([]any), args[1].(*node), sign)
	}
}

func mapOver(in *interpreter, args []any) (any, error) {
	list := args[1].([]any)
	if err := in.budget.take(len(list)); err != nil {
		return nil, err
	}
	mapped := make([]any, len(list))
	for i, element := range list {
		value, err := in.eval(args[0].(*node), element)
		if err != nil {
			return nil, err
		}
		mapped[i] = value
	}
	return mapped, nil
}

// total adds up a list of numbers.
func (in *interpreter) total(list []any) (sum float64, err error) {
	if err := in.budget.take(len(list)); err != nil {
		return 0, err
	}
	for i, element := range list {
		f, isNumber, err := asNumber(element)
		if err == nil && !isNumber {
			err = fmt.Errorf("element %d is %s; it takes %s", i, typeName(element), numbers)
		}
		if err != nil {
			return 0, err
		}
		sum += f
	}
	return sum, nil
}

func sum(in *interpreter, args []any) (any, error) {
	total, err := in.total(args[0].([]any))
	if err != nil {
		return nil, err
	}
	return finite(total)
}

// average is null for an empty list.
func average(in *interpreter, args []any) (any, error) {
	list := args[0].([]any)
	total, err := in.total(list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return finite(total / float64(len(list)))
}
