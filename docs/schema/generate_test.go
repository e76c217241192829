package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"sluice/internal/duration"
)

// object is a schema. Its members come in the order of the alphabet.
type object map[string]any

// generate writes the schema of a document.
func generate(d named, comments comments) ([]byte, error) {
	g := generator{input: d.input, comments: comments}
	schema := g.of(d.value)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"] = "https://sluice/schema/" + d.name + ".json"
	schema["title"] = d.name
	raw, err := json.MarshalIndent(schema, "", "  ")
	return append(raw, '\n'), err
}

// generator makes schemas of what is decoded (input), where no other member may be
// given and null is as good as absent, or of what is answered.
type generator struct {
	input    bool
	comments comments
}

func (g generator) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return object{}
	case t == reflect.TypeFor[duration.Duration]():
		return object{"type": "string", "pattern": lengthPattern}
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return object{} // a form of its own
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(g.of(t.Elem()))
	case reflect.Struct:
		return g.structure(t)
	case reflect.Map:
		members := object{"type": "object", "additionalProperties": g.of(t.Elem())}
		if !g.input {
			return nullable(members)
		}
		return members
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		list := object{"type": "array", "items": g.of(t.Elem())}
		if !g.input {
			return nullable(list) // Go's empty list may be null
		}
		return list
	default:
		return object{"type": scalar(t.Kind())}
	}
}

func scalar(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float32, reflect.Float64:
		return "number"
	default:
		return "integer"
	}
}

// nullable also takes null.
func nullable(schema object) object {
	switch kind := schema["type"].(type) {
	case string:
		schema["type"] = []string{kind, "null"}
	}
	return schema
}

func (g generator) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		must := !strings.HasPrefix(options, "omit")
		properties[name] = g.field(t, f, name, must)
		if must {
			required = append(required, name)
		}
	}
	schema := object{"type": "object", "properties": properties}
	if words := g.comments.of(t, ""); words != "" {
		schema["description"] = words
	}
	if g.input {
		schema["additionalProperties"] = false
	}
	if len(required) > 0 {
		slices.Sort(required)
		schema["required"] = required
	}
	if among, ok := choices[t.Name()]; ok && g.input {
		var one []object
		for _, name := range among {
			one = append(one, object{"required": []string{name}})
		}
		schema["oneOf"] = one
	}
	return schema
}

func (g generator) field(t reflect.Type, f reflect.StructField, name string, must bool) object {
	owner := t
	for i := range f.Index[:len(f.Index)-1] {
		owner = t.FieldByIndex(f.Index[:i+1]).Type // of an embedded struct
	}
	schema := g.of(f.Type)
	if g.input && lengths[name] && f.Type.Kind() == reflect.String {
		schema["pattern"] = lengthPattern
	}
	for rule, value := range rules[owner.Name()+"."+name] {
		schema[rule] = value
	}
	if g.input && !must {
		schema = nullable(schema)
	}
	if words := g.comments.of(owner, f.Name); words != "" {
		schema["description"] = words
	}
	return schema
}
