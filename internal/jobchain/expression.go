package jobchain

import (
	"errors"
	"fmt"

	"sluice/internal/jmespath"
	"sluice/internal/limits"
)

// maxShown is how much of an expression an error shows, in bytes.
const maxShown = 200

// expressions compiles expressions, once each as long as they are not too many
// together: ten thousand jobs may each have one of their own.
type expressions struct {
	compiled map[string]*jmespath.Expression
	bytes    int // of the texts
}

// maxCompiled bounds the texts whose expressions are kept, in bytes.
const maxCompiled = 64 << 10

// compile reads an expression and refuses one without a fixed order: another
// order on replay would be another input.
func (x *expressions) compile(text string) (*jmespath.Expression, error) {
	if e, ok := x.compiled[text]; ok {
		return e, nil
	}
	e, err := jmespath.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a JMESPath expression: %w", limits.Clip(text, maxShown), err)
	}
	if what := e.Unordered(); what != "" {
		return nil, fmt.Errorf("%q: %s has no fixed order; name the fields", limits.Clip(text, maxShown), what)
	}
	if x.bytes+len(text) <= maxCompiled {
		if x.compiled == nil {
			x.compiled = map[string]*jmespath.Expression{}
		}
		x.compiled[text] = e
		x.bytes += len(text)
	}
	return e, nil
}

// check tells what is wrong with the expression whatever the data, and which job's
// output it begins with.
func (x *expressions) check(e found) (job string, refers bool, err error) {
	if !e.isText {
		return "", false, errors.New("a JMESPath expression is a string")
	}
	compiled, err := x.compile(e.text)
	if err != nil {
		return "", false, err
	}
	if path, _ := compiled.Path(); len(path) > 1 && path[0] == "jobs" {
		return path[1], true, nil
	}
	return "", false, nil
}

// evaluate returns the expression's value. JMESPath says null for what is not
// there; a job is never given a null that nobody put there.
func (d *Data) evaluate(text string, budget *jmespath.Budget) (any, error) {
	e, err := d.expressions.compile(text)
	if err != nil {
		return nil, err
	}
	value, err := e.Search(d.root, budget)
	if err == nil && value == nil {
		if path, whole := e.Path(); !whole || !d.holdsNull(path) {
			err = errors.New("there is no such value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", limits.Clip(text, maxShown), err)
	}
	return value, nil
}

// holdsNull reports that a path leads to a null that is really there, as the
// output of a job that was skipped.
func (d *Data) holdsNull(path []string) bool {
	var at any = d.root
	for _, name := range path {
		object, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = object[name]; !ok {
			return false
		}
	}
	return at == nil
}
