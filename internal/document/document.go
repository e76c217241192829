// Package document decodes Sluice's own JSON documents strictly and reports all
// faults of one at once, each with its path. It owns the reading; what values
// mean is checked by whoever owns the document, who adds to the same Faults.
//
// Strict means: field names are matched exactly, an unknown or repeated field is
// a fault, so is a value of another type, and a field tagged `doc:"required"`
// that is missing or null. A field that is absent or null keeps what the caller
// put there, which is how defaults are given; elements of lists and maps get
// theirs from their method SetDefaults.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Defaulter fills in the defaults of an element before it is decoded.
type Defaulter interface{ SetDefaults() }

// Decode reads raw into v, a pointer to a struct. Nothing at all (no bytes, or
// null) reads as the empty object.
func Decode(raw []byte, v any) Faults {
	var faults Faults
	if len(bytes.TrimSpace(raw)) == 0 || isNull(raw) {
		raw = []byte("{}")
	}
	if !json.Valid(raw) {
		var probe any
		faults.Add("", "not valid JSON: %v", json.Unmarshal(raw, &probe))
		return faults
	}
	decode(&faults, "", raw, reflect.ValueOf(v).Elem())
	return faults
}

func decode(faults *Faults, path string, raw []byte, v reflect.Value) {
	if v.CanAddr() {
		if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
			faults.take(path, u.UnmarshalJSON(raw))
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		setDefaults(target.Elem())
		decode(faults, path, raw, target.Elem())
		v.Set(target)
	case reflect.Struct:
		decodeStruct(faults, path, raw, v)
	case reflect.Slice:
		decodeSlice(faults, path, raw, v)
	case reflect.Map:
		decodeMap(faults, path, raw, v)
	default:
		decodeScalar(faults, path, raw, v)
	}
}

func decodeStruct(faults *Faults, path string, raw []byte, v reflect.Value) {
	members, ok := readObject(faults, path, raw)
	if !ok {
		return
	}
	fields := fieldsOf(v.Type())
	named, given := map[string]bool{}, map[string]bool{} // null names a field and gives it nothing
	for _, m := range members {
		field, known := fields.byName(m.name)
		twice := named[m.name]
		named[m.name] = true
		switch {
		case m.name == "":
			faults.Add(Join(path, `""`), "a field without a name")
		case !known:
			faults.Add(Join(path, m.name), "unknown field%s", fields.suggestion(m.name))
		case twice:
			faults.Add(Join(path, m.name), "given twice")
		case isNull(m.value):
			if raw, isRaw := v.FieldByIndex(field.index).Addr().Interface().(*json.RawMessage); isRaw {
				*raw = json.RawMessage("null")
			}
		default:
			given[m.name] = true
			decode(faults, Join(path, m.name), m.value, v.FieldByIndex(field.index))
		}
	}
	for _, f := range fields {
		if f.required && !given[f.name] {
			faults.Add(Join(path, f.name), "required")
		}
	}
}

func decodeSlice(faults *Faults, path string, raw []byte, v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		decodeScalar(faults, path, raw, v)
		return
	}
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		faults.Add(path, "%s where a list is expected", kindOf(raw))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(elements), len(elements))
	for i, element := range elements {
		setDefaults(list.Index(i))
		decode(faults, Index(path, i), element, list.Index(i))
	}
	v.Set(list)
}

func decodeMap(faults *Faults, path string, raw []byte, v reflect.Value) {
	members, ok := readObject(faults, path, raw)
	if !ok {
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), len(members))
	for _, member := range members {
		element := reflect.New(v.Type().Elem()).Elem()
		setDefaults(element)
		decode(faults, Join(path, member.name), member.value, element)
		key := reflect.ValueOf(member.name).Convert(v.Type().Key())
		if m.MapIndex(key).IsValid() {
			faults.Add(Join(path, member.name), "given twice")
		}
		m.SetMapIndex(key, element)
	}
	v.Set(m)
}

func decodeScalar(faults *Faults, path string, raw []byte, v reflect.Value) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // numbers of any size pass through an `any` exactly
	err := decoder.Decode(v.Addr().Interface())
	if err != nil || (isNull(raw) && v.Kind() != reflect.Interface) {
		faults.Add(path, "%s where %s is expected", kindOf(raw), expected(v.Kind()))
	}
}

func setDefaults(v reflect.Value) {
	if v.CanAddr() {
		if d, ok := v.Addr().Interface().(Defaulter); ok {
			d.SetDefaults()
		}
	}
}

type member struct {
	name  string
	value json.RawMessage
}

// readObject returns the members in the order written, so that faults come in
// the order in which a reader of the document meets them.
func readObject(faults *Faults, path string, raw []byte) ([]member, bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		faults.Add(path, "%s where an object is expected", kindOf(raw))
		return nil, false
	}
	var members []member
	for decoder.More() {
		var m member
		token, err := decoder.Token()
		if err == nil {
			m.name, _ = token.(string)
			err = decoder.Decode(&m.value)
		}
		if err != nil { // not reached: Decode has seen that raw is valid
			faults.Add(path, "%v", err)
			return nil, false
		}
		members = append(members, m)
	}
	return members, true
}

func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

func kindOf(raw []byte) string {
	switch trimmed := bytes.TrimSpace(raw); trimmed[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return string(trimmed)
	case 'n':
		return "null"
	default:
		return "the number " + string(trimmed)
	}
}

func expected(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer of at least 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "base64 text"
	default:
		return fmt.Sprintf("a %v", k)
	}
}

type field struct {
	name     string
	index    []int
	required bool
}

type fields []field

// fieldsOf lists the JSON fields of a struct in its order; those of embedded
// structs count as its own.
func fieldsOf(t reflect.Type) fields {
	var all fields
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || (f.Anonymous && name == "") {
			continue
		}
		if name == "" {
			name = f.Name
		}
		all = append(all, field{name: name, index: f.Index, required: f.Tag.Get("doc") == "required"})
	}
	return all
}

func (fs fields) byName(name string) (field, bool) {
	for _, f := range fs {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// suggestion names the field that differs in letter case only, or all fields.
func (fs fields) suggestion(name string) string {
	names := make([]string, len(fs))
	for i, f := range fs {
		if strings.EqualFold(f.name, name) {
			return fmt.Sprintf("; write %q", f.name)
		}
		names[i] = f.name
	}
	if len(names) == 0 {
		return ""
	}
	return "; known are " + strings.Join(names, ", ")
}
