package hostile

import (
	"encoding/json"
	"maps"
	"slices"
)

// A Schema is what the generator reads of a JSON Schema.
type Schema struct {
	Types      []string
	Properties map[string]*Schema
	Required   []string
	Items      *Schema
	Members    *Schema // of an object whose members may have any name
	OneOf      []string
	Enum       []any
	Minimum    *float64
	Maximum    *float64
	MinItems   int
}

// Parse reads a JSON Schema.
func Parse(raw []byte) (*Schema, error) {
	var s Schema
	return &s, json.Unmarshal(raw, &s)
}

// UnmarshalJSON reads the keywords that the documents' schemas have.
func (s *Schema) UnmarshalJSON(raw []byte) error {
	var read struct {
		Type       any                `json:"type"`
		Properties map[string]*Schema `json:"properties"`
		Required   []string           `json:"required"`
		Items      *Schema            `json:"items"`
		Additional json.RawMessage    `json:"additionalProperties"`
		OneOf      []struct {
			Required []string `json:"required"`
		} `json:"oneOf"`
		Enum     []any    `json:"enum"`
		Minimum  *float64 `json:"minimum"`
		Maximum  *float64 `json:"maximum"`
		MinItems int      `json:"minItems"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	*s = Schema{Properties: read.Properties, Required: read.Required, Items: read.Items, Enum: read.Enum, Minimum: read.Minimum, Maximum: read.Maximum, MinItems: read.MinItems}
	switch t := read.Type.(type) {
	case string:
		s.Types = []string{t}
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				s.Types = append(s.Types, name)
			}
		}
	}
	for _, choice := range read.OneOf {
		s.OneOf = append(s.OneOf, choice.Required...)
	}
	if len(read.Additional) > 0 && read.Additional[0] == '{' {
		s.Members = &Schema{}
		return json.Unmarshal(read.Additional, s.Members)
	}
	return nil
}

// names are the members in the order of the alphabet, so that a seed decides all.
func (s *Schema) names() []string { return slices.Sorted(maps.Keys(s.Properties)) }
