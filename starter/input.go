package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"sluice/starter/internal/yaml"
)

// fileFlag is the document of a command, shared by all that take one.
type fileFlag struct {
	File string `short:"f" help:"The document, JSON or YAML; - is standard input." placeholder:"FILE"`
}

// document reads the file and puts the fields given as flags over it. Fields
// whose value is the zero of its type were not given; paths are one level deep.
func (a *app) document(f fileFlag, given ...field) (json.RawMessage, error) {
	raw := json.RawMessage("{}")
	if f.File != "" {
		read, err := a.readFile(f.File)
		if err != nil {
			return nil, err
		}
		if raw, err = toJSON(read); err != nil {
			return nil, usage("%s: %v", f.File, err)
		}
	}
	return overlay(raw, given)
}

func (a *app) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.stdin)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, usage("%v", err)
	}
	return raw, nil
}

// toJSON passes JSON through untouched, so that numbers keep every digit, and
// converts YAML.
func toJSON(raw []byte) (json.RawMessage, error) {
	if json.Valid(raw) {
		return bytes.TrimSpace(raw), nil
	}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '{' {
		var probe any // meant as JSON, so the message is to be about JSON
		return nil, fmt.Errorf("not valid JSON: %w", json.Unmarshal(raw, &probe))
	}
	return yaml.ToJSON(raw)
}

// field is a top-level field of a document given by flag.
type field struct {
	name  string
	value any
}

// overlay sets those of the fields that were given, keeping all others as they
// are written.
func overlay(raw json.RawMessage, given []field) (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	for _, f := range given {
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if isZero(value) {
			continue
		}
		if len(members) == 0 {
			if err := json.Unmarshal(raw, &members); err != nil || members == nil {
				return nil, usage("the document is not an object")
			}
		}
		members[f.name] = value
	}
	if len(members) == 0 {
		return raw, nil
	}
	return json.Marshal(members)
}

func isZero(value []byte) bool {
	switch string(value) {
	case `""`, `0`, `null`, `false`, `[]`, `{}`:
		return true
	default:
		return false
	}
}
