// Package yaml writes YAML documents as JSON.
package yaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// ToJSON writes a YAML document as JSON. It goes by the nodes and not by Go
// values, so that numbers keep every digit and a key such as n or on stays text.
func ToJSON(raw []byte) (json.RawMessage, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("neither JSON nor YAML: %w", err)
	}
	if len(document.Content) == 0 {
		return nil, errors.New("the document is empty")
	}
	var out bytes.Buffer
	err := appendNode(&out, document.Content[0])
	return out.Bytes(), err
}

func appendNode(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.MappingNode:
		return appendMapping(out, node)
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, element := range node.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := appendNode(out, element); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case yaml.AliasNode:
		return fmt.Errorf("line %d: aliases are not taken; write the value again", node.Line)
	default:
		return appendScalar(out, node)
	}
}

func appendMapping(out *bytes.Buffer, node *yaml.Node) error {
	given := map[string]bool{}
	out.WriteByte('{')
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key has to be a text", key.Line)
		}
		if given[key.Value] {
			return fmt.Errorf("line %d: key %q is already there", key.Line, key.Value)
		}
		given[key.Value] = true
		if i > 0 {
			out.WriteByte(',')
		}
		if err := appendJSON(out, key.Value); err != nil {
			return err
		}
		out.WriteByte(':')
		if err := appendNode(out, node.Content[i+1]); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// appendScalar writes numbers as they are written where JSON has the same form.
func appendScalar(out *bytes.Buffer, node *yaml.Node) error {
	switch node.ShortTag() {
	case "!!int", "!!float":
		if json.Valid([]byte(node.Value)) {
			out.WriteString(node.Value)
			return nil
		}
		var number any
		if err := node.Decode(&number); err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		return appendJSON(out, number)
	case "!!bool", "!!null":
		var value any
		if err := node.Decode(&value); err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		return appendJSON(out, value)
	default:
		return appendJSON(out, node.Value)
	}
}

func appendJSON(out *bytes.Buffer, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	out.Write(raw)
	return nil
}
