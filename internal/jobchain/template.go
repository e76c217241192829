package jobchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/internal/document"
	"sluice/internal/jmespath"
)

// The two keys that mean something in a job's input, each in an object of its
// own: {"$from": "<JMESPath>"} and {"$literal": <anything>}.
const (
	fromKey    = "$from"
	literalKey = "$literal"
)

// maxInputSteps is what the expressions of one input may cost together: a fraction
// of a second. What an honest one costs is some steps for each element that it
// goes through, of which a request's data can't hold a million.
const maxInputSteps = 4_000_000

// Resolve puts values into a job's input: an object whose only key is $from
// becomes the value of its expression, one whose only key is $literal becomes
// what it holds. What was put in is not searched again. The error of an input that
// would be longer than MaxCarried is an *OversizeError.
func Resolve(input json.RawMessage, data *Data, budget *jmespath.Budget) (json.RawMessage, error) {
	if !mayHoldTemplate(input) {
		if len(input) == 0 {
			return json.RawMessage("null"), nil
		}
		return input, nil
	}
	tree, err := parse(input)
	if err != nil {
		return nil, err
	}
	r := resolver{data: data, budget: budget}
	resolved, err := r.resolve(tree)
	if err != nil {
		return nil, err
	}
	encoded, err := jmespath.AppendJSON(nil, resolved, MaxCarried, budget)
	if errors.Is(err, jmespath.ErrTooLong) {
		err = &OversizeError{}
	}
	return encoded, err
}

// An OversizeError is the error of an input that is too large with what its
// expressions put in.
type OversizeError struct{}

func (*OversizeError) Error() string {
	return fmt.Sprintf("more than %d bytes with what its expressions put in; keep large data elsewhere and hand on where it is", MaxCarried)
}

// resolver resolves one input.
type resolver struct {
	data   *Data
	budget *jmespath.Budget
}

func (r *resolver) resolve(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if text, ok := onlyKey(v, fromKey); ok {
			expression, isText := text.(string)
			if !isText {
				return nil, fmt.Errorf("%s takes a JMESPath expression as a string", fromKey)
			}
			return r.data.evaluate(expression, r.budget)
		}
		if literal, ok := onlyKey(v, literalKey); ok {
			return literal, nil
		}
		for _, key := range sortedKeys(v) {
			value, err := r.resolve(v[key])
			if err != nil {
				return nil, err
			}
			v[key] = value
		}
	case []any:
		for i := range v {
			value, err := r.resolve(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = value
		}
	}
	return v, nil
}

// found is a $from found in an input, with its path in there.
type found struct {
	path   string
	text   string
	isText bool
}

// expressionsIn lists those in an input, in the order of their paths.
func expressionsIn(input json.RawMessage) []found {
	if !mayHoldTemplate(input) {
		return nil
	}
	tree, err := parse(input)
	if err != nil {
		return nil
	}
	var all []found
	collect(tree, "", &all)
	return all
}

func collect(v any, path string, all *[]found) {
	switch v := v.(type) {
	case map[string]any:
		if value, ok := onlyKey(v, fromKey); ok {
			text, isText := value.(string)
			*all = append(*all, found{path: document.Join(path, fromKey), text: text, isText: isText})
			return
		}
		if _, ok := onlyKey(v, literalKey); ok {
			return
		}
		for _, key := range sortedKeys(v) {
			collect(v[key], document.Join(path, key), all)
		}
	case []any:
		for i := range v {
			collect(v[i], document.Index(path, i), all)
		}
	}
}

func onlyKey(m map[string]any, key string) (any, bool) {
	v, ok := m[key]
	return v, ok && len(m) == 1
}

// mayHoldTemplate rules out most inputs without reading them. A dollar sign may
// also be written as an escape.
func mayHoldTemplate(input json.RawMessage) bool {
	return bytes.Contains(input, []byte("$from")) || bytes.Contains(input, []byte("$literal")) ||
		bytes.Contains(input, []byte(`\u`))
}

// parse reads JSON and keeps its numbers as they are written.
func parse(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	return v, err
}
