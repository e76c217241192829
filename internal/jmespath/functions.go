package jmespath

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// argument is what a function takes in one place.
type argument string

const (
	anything    argument = "any value"
	aNumber     argument = "a number"
	aString     argument = "a string"
	anArray     argument = "an array"
	anObject    argument = "an object"
	sized       argument = "a string, an array or an object"
	listOrText  argument = "an array or a string"
	numbers     argument = "an array of numbers"
	stringsOnly argument = "an array of strings"
	sortable    argument = "an array of numbers or of strings"
	reference   argument = "an expression after &"
)

// function is one of the language: what it takes and what it does. The last
// argument may be given any number of times where it is variadic.
type function struct {
	takes    []argument
	variadic bool
	do       func(in *interpreter, args []any) (any, error)
}

// functionTable is filled by init: what the functions do leads back to it.
var functionTable map[string]*function

func init() {
	functionTable = map[string]*function{
		"abs":         {takes: []argument{aNumber}, do: numeric(math.Abs)},
		"avg":         {takes: []argument{numbers}, do: average},
		"ceil":        {takes: []argument{aNumber}, do: numeric(math.Ceil)},
		"contains":    {takes: []argument{listOrText, anything}, do: contains},
		"ends_with":   {takes: []argument{aString, aString}, do: affix(strings.HasSuffix)},
		"floor":       {takes: []argument{aNumber}, do: numeric(math.Floor)},
		"join":        {takes: []argument{aString, stringsOnly}, do: join},
		"keys":        {takes: []argument{anObject}, do: keysOf},
		"length":      {takes: []argument{sized}, do: length},
		"map":         {takes: []argument{reference, anArray}, do: mapOver},
		"max":         {takes: []argument{sortable}, do: extreme(1)},
		"max_by":      {takes: []argument{anArray, reference}, do: extremeBy(1)},
		"merge":       {takes: []argument{anObject}, variadic: true, do: merge},
		"min":         {takes: []argument{sortable}, do: extreme(-1)},
		"min_by":      {takes: []argument{anArray, reference}, do: extremeBy(-1)},
		"not_null":    {takes: []argument{anything}, variadic: true, do: notNull},
		"reverse":     {takes: []argument{listOrText}, do: reverse},
		"sort":        {takes: []argument{sortable}, do: sorted},
		"sort_by":     {takes: []argument{anArray, reference}, do: sortedBy},
		"starts_with": {takes: []argument{aString, aString}, do: affix(strings.HasPrefix)},
		"sum":         {takes: []argument{numbers}, do: sum},
		"to_array":    {takes: []argument{anything}, do: toArray},
		"to_number":   {takes: []argument{anything}, do: toNumber},
		"to_string":   {takes: []argument{anything}, do: toString},
		"type":        {takes: []argument{anything}, do: typeOf},
		"values":      {takes: []argument{anObject}, do: valuesOf},
	}
}

// signature is the function that a call names, or what is wrong with the call
// whatever the data.
func signature(n *node) (*function, error) {
	f, ok := functionTable[n.name]
	if !ok {
		return nil, fmt.Errorf("no function %s(); known are %s", n.name, strings.Join(sortedKeys(functionTable), ", "))
	}
	if len(n.children) != len(f.takes) && !(f.variadic && len(n.children) > len(f.takes)) {
		return nil, fmt.Errorf("%s() with %d arguments; it takes %d", n.name, len(n.children), len(f.takes))
	}
	for i, child := range n.children {
		if takes := f.argument(i); (child.op == opExpression) != (takes == reference) {
			return nil, fmt.Errorf("%s(): argument %d is %s", n.name, i+1, takes)
		}
	}
	return f, nil
}

func (f *function) argument(i int) argument { return f.takes[min(i, len(f.takes)-1)] }

func (in *interpreter) call(n *node, v any) (any, error) {
	args := make([]any, len(n.children))
	for i, child := range n.children {
		value, err := in.eval(child, v)
		if err != nil {
			return nil, err
		}
		if takes := n.function.argument(i); !takes.fits(value) {
			return nil, fmt.Errorf("%s(): argument %d is %s; it takes %s", n.name, i+1, typeName(value), takes)
		}
		args[i] = value
	}
	value, err := n.function.do(in, args)
	if err != nil {
		return nil, fmt.Errorf("%s(): %w", n.name, err)
	}
	return value, nil
}

// fits reports that v is what an argument has to be. The elements of a list are
// looked at where they are used.
func (a argument) fits(v any) bool {
	_, isString := v.(string)
	_, isList := v.([]any)
	_, isObject := v.(map[string]any)
	switch a {
	case aNumber:
		return isNumber(v)
	case aString:
		return isString
	case anArray, numbers, stringsOnly, sortable:
		return isList
	case anObject:
		return isObject
	case sized:
		return isString || isList || isObject
	case listOrText:
		return isString || isList
	default:
		return true
	}
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		if isNumber(v) {
			return "number"
		}
		return fmt.Sprintf("%T", v)
	}
}

func numeric(f func(float64) float64) func(*interpreter, []any) (any, error) {
	return func(_ *interpreter, args []any) (any, error) {
		x, _, err := asNumber(args[0])
		if err != nil {
			return nil, err
		}
		return f(x), nil
	}
}

func affix(has func(text, affix string) bool) func(*interpreter, []any) (any, error) {
	return func(in *interpreter, args []any) (any, error) {
		text, part := args[0].(string), args[1].(string)
		return has(text, part), in.budget.take(reading(len(part)))
	}
}

func contains(in *interpreter, args []any) (any, error) {
	if text, ok := args[0].(string); ok {
		part, ok := args[1].(string)
		return ok && strings.Contains(text, part), in.budget.take(reading(len(text)))
	}
	for _, element := range args[0].([]any) {
		if same, err := in.same(element, args[1]); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

func length(in *interpreter, args []any) (any, error) {
	switch v := args[0].(type) {
	case string:
		return float64(utf8.RuneCountInString(v)), in.budget.take(reading(len(v)))
	case []any:
		return float64(len(v)), nil
	default:
		return float64(len(v.(map[string]any))), nil
	}
}

func join(in *interpreter, args []any) (any, error) {
	var joined strings.Builder
	for i, element := range args[1].([]any) {
		text, ok := element.(string)
		if !ok {
			return nil, fmt.Errorf("element %d is %s; it takes %s", i, typeName(element), stringsOnly)
		}
		if i > 0 {
			text = args[0].(string) + text
		}
		if err := in.budget.take(writing(len(text))); err != nil {
			return nil, err
		}
		joined.WriteString(text)
	}
	return joined.String(), nil
}

// keys are those of an object in their order.
func (in *interpreter) keys(object map[string]any) ([]string, error) {
	if err := in.budget.take(2 * len(object)); err != nil {
		return nil, err
	}
	return sortedKeys(object), nil
}

// sortedKeys are the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func keysOf(in *interpreter, args []any) (any, error) {
	keys, err := in.keys(args[0].(map[string]any))
	list := make([]any, len(keys))
	for i, key := range keys {
		list[i] = key
	}
	return list, err
}

func valuesOf(in *interpreter, args []any) (any, error) {
	object := args[0].(map[string]any)
	keys, err := in.keys(object)
	list := make([]any, len(keys))
	for i, key := range keys {
		list[i] = object[key]
	}
	return list, err
}

func merge(in *interpreter, args []any) (any, error) {
	merged := map[string]any{}
	for _, arg := range args {
		object := arg.(map[string]any)
		if err := in.budget.take(2 * len(object)); err != nil {
			return nil, err
		}
		maps.Copy(merged, object)
	}
	return merged, nil
}

func notNull(_ *interpreter, args []any) (any, error) {
	for _, arg := range args {
		if arg != nil {
			return arg, nil
		}
	}
	return nil, nil
}

func reverse(in *interpreter, args []any) (any, error) {
	if text, ok := args[0].(string); ok {
		if err := in.budget.take(writing(len(text))); err != nil {
			return nil, err
		}
		runes := []rune(text)
		slices.Reverse(runes)
		return string(runes), nil
	}
	list := args[0].([]any)
	if err := in.budget.take(len(list)); err != nil {
		return nil, err
	}
	reversed := slices.Clone(list)
	slices.Reverse(reversed)
	return reversed, nil
}

func toArray(_ *interpreter, args []any) (any, error) {
	if list, ok := args[0].([]any); ok {
		return list, nil
	}
	return []any{args[0]}, nil
}

func toNumber(_ *interpreter, args []any) (any, error) {
	if isNumber(args[0]) {
		return args[0], nil
	}
	text, _ := args[0].(string)
	return parsedNumber(text), nil
}

func toString(in *interpreter, args []any) (any, error) {
	if text, ok := args[0].(string); ok {
		return text, nil
	}
	encoded, err := AppendJSON(nil, args[0], math.MaxInt, in.budget)
	return string(encoded), err
}

func typeOf(_ *interpreter, args []any) (any, error) { return typeName(args[0]), nil }
