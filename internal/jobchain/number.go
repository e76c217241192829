package jobchain

import (
	"encoding/json"
	"maps"
	"math/big"
	"strconv"
	"strings"
)

// Data is what expressions see: the request's args, the outputs of its complete
// jobs, and the request itself.
type Data struct {
	root map[string]any
	jobs map[string]any // those of root

	// What of args and jobs holds numbers that the library can't reckon with, with
	// the nearest that it can in their place.
	args   any
	approx map[string]any
}

// NewData makes the data of a request; Set adds outputs.
func NewData(args json.RawMessage, request map[string]any) *Data {
	d := &Data{jobs: map[string]any{}, approx: map[string]any{}}
	value := exact(args)
	if holdsNumber(value) {
		d.args = rounded(value)
	}
	d.root = map[string]any{"args": value, "jobs": d.jobs, "request": request}
	return d
}

// Set adds the output of a complete job.
func (d *Data) Set(id string, output json.RawMessage) {
	value := exact(output)
	d.jobs[id] = value
	if holdsNumber(value) {
		d.approx[id] = rounded(value)
	}
}

// Unset takes an output away again: its sequence starts anew.
func (d *Data) Unset(id string) {
	delete(d.jobs, id)
	delete(d.approx, id)
}

func (d *Data) inexact() bool { return d.args != nil || len(d.approx) > 0 }

// rounded is the root with every number as a float64.
func (d *Data) rounded() map[string]any {
	root, jobs := maps.Clone(d.root), maps.Clone(d.jobs)
	maps.Copy(jobs, d.approx)
	root["jobs"] = jobs
	if d.args != nil {
		root["args"] = d.args
	}
	return root
}

// rounded is a copy of v with every number as a float64.
func rounded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		r := make(map[string]any, len(v))
		for key := range v { // order does not matter: a map is copied into a map
			r[key] = rounded(v[key])
		}
		return r
	case []any:
		r := make([]any, len(v))
		for i := range v {
			r[i] = rounded(v[i])
		}
		return r
	case json.Number:
		f, _ := strconv.ParseFloat(string(v), 64) // infinite where it is too large
		return f
	default:
		return v
	}
}

// holdsNumber reports that v holds a number that is kept as it is written.
func holdsNumber(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key := range v { // order does not matter: any will do
			if holdsNumber(v[key]) {
				return true
			}
		}
	case []any:
		for i := range v {
			if holdsNumber(v[i]) {
				return true
			}
		}
	case json.Number:
		return true
	}
	return false
}

// exact reads JSON for the expression library, which compares and adds float64s
// only. A number that a float64 would not give back as it was stays a
// json.Number, which passes through untouched.
func exact(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	tree, err := parse(raw)
	if err != nil {
		return nil
	}
	return floats(tree)
}

func floats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v { // order does not matter: each value is replaced for itself
			v[key] = floats(v[key])
		}
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case json.Number:
		if f, ok := asFloat(string(v)); ok {
			return f
		}
	}
	return v
}

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, value := range v { // order does not matter: a map is copied into a map
			c[key] = copied(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = copied(v[i])
		}
		return c
	default:
		return v
	}
}

// asFloat converts a number that comes back with the same value. Exponents and
// very long numbers are left alone: comparing them exactly can cost any memory.
func asFloat(text string) (float64, bool) {
	const longest = 40
	if len(text) > longest || strings.ContainsAny(text, "eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	was, okWas := new(big.Rat).SetString(text)
	is, okIs := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
	return f, okWas && okIs && was.Cmp(is) == 0
}
