package jobchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/internal/document"
)

// The two keys that mean something in a job's input, each in an object of its
// own: {"$from": "<JMESPath>"} and {"$literal": <anything>}.
const (
	fromKey    = "$from"
	literalKey = "$literal"
)

// Resolve puts values into a job's input: an object whose only key is $from
// becomes the value of its expression, one whose only key is $literal becomes
// what it holds. What was put in is not searched again. With an *InexactError
// comes the input as the library would have it, where it found all values.
func Resolve(input json.RawMessage, data *Data) (json.RawMessage, error) {
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
	r := resolver{data: data}
	resolved, err := r.resolve(tree)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(resolved)
	if err == nil && r.inexact != nil {
		err = r.inexact
	}
	return encoded, err
}

// resolver resolves one input. It goes on past an *InexactError that has a value.
type resolver struct {
	data    *Data
	inexact *InexactError // the first
}

func (r *resolver) evaluate(expression string) (any, error) {
	value, err := evaluate(expression, r.data)
	var inexact *InexactError
	if errors.As(err, &inexact) && inexact.found {
		if r.inexact == nil {
			r.inexact = inexact
		}
		return value, nil
	}
	return value, err
}

func (r *resolver) resolve(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if text, ok := onlyKey(v, fromKey); ok {
			expression, isText := text.(string)
			if !isText {
				return nil, fmt.Errorf("%s takes a JMESPath expression as a string", fromKey)
			}
			return r.evaluate(expression)
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

// expression is a $from found in an input, with its path in there.
type expression struct {
	path   string
	text   string
	isText bool
}

// expressions lists those in an input, in the order of their paths.
func expressions(input json.RawMessage) []expression {
	if !mayHoldTemplate(input) {
		return nil
	}
	tree, err := parse(input)
	if err != nil {
		return nil
	}
	var found []expression
	collect(tree, "", &found)
	return found
}

func collect(v any, path string, found *[]expression) {
	switch v := v.(type) {
	case map[string]any:
		if value, ok := onlyKey(v, fromKey); ok {
			text, isText := value.(string)
			*found = append(*found, expression{path: document.Join(path, fromKey), text: text, isText: isText})
			return
		}
		if _, ok := onlyKey(v, literalKey); ok {
			return
		}
		for _, key := range sortedKeys(v) {
			collect(v[key], document.Join(path, key), found)
		}
	case []any:
		for i := range v {
			collect(v[i], document.Index(path, i), found)
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
