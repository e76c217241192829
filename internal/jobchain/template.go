package jobchain

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sluice/internal/document"
)

// The two keys that mean something in a job's input, each in an object of its
// own: {"$from": "<JMESPath>"} and {"$literal": <anything>}.
const (
	fromKey    = "$from"
	literalKey = "$literal"
)

// Data is what expressions see: the request's args, the outputs of its complete
// jobs, and the request itself.
type Data map[string]any

// NewData makes the data of a request; Set adds outputs.
func NewData(args json.RawMessage, request map[string]any) Data {
	return Data{"args": exact(args), "jobs": map[string]any{}, "request": request}
}

// Set adds the output of a complete job.
func (d Data) Set(id string, output json.RawMessage) { d["jobs"].(map[string]any)[id] = exact(output) }

// Unset takes an output away again: its sequence starts anew.
func (d Data) Unset(id string) { delete(d["jobs"].(map[string]any), id) }

// Resolve puts values into a job's input: an object whose only key is $from
// becomes the value of its expression, one whose only key is $literal becomes
// what it holds. What was put in is not searched again.
func Resolve(input json.RawMessage, data Data) (json.RawMessage, error) {
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
	resolved, err := resolve(tree, data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(resolved)
}

func resolve(v any, data Data) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if text, ok := onlyKey(v, fromKey); ok {
			expression, isText := text.(string)
			if !isText {
				return nil, fmt.Errorf("%s takes a JMESPath expression as a string", fromKey)
			}
			return evaluate(expression, data)
		}
		if literal, ok := onlyKey(v, literalKey); ok {
			return literal, nil
		}
		for _, key := range sortedKeys(v) {
			value, err := resolve(v[key], data)
			if err != nil {
				return nil, err
			}
			v[key] = value
		}
	case []any:
		for i := range v {
			value, err := resolve(v[i], data)
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
