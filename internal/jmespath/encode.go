package jmespath

import (
	"encoding/json"
	"errors"
	"strconv"
)

// ErrTooLong is the error of a value that takes more bytes of JSON than it may.
var ErrTooLong = errors.New("the value is too long")

// AppendJSON appends v as JSON, the keys of objects in their order, unless dst
// would become longer than most bytes: a short value may hold the same long part
// any number of times.
func AppendJSON(dst []byte, v any, most int, budget *Budget) ([]byte, error) {
	e := encoder{to: dst, most: most, in: interpreter{budget: budget}}
	err := e.value(v)
	return e.to, err
}

type encoder struct {
	to   []byte
	most int
	in   interpreter
}

func (e *encoder) value(v any) error {
	switch v := v.(type) {
	case nil:
		return e.put("null")
	case bool:
		return e.put(strconv.FormatBool(v))
	case json.Number:
		return e.put(string(v))
	case string:
		return e.text(v)
	case []any:
		return e.list(v)
	case map[string]any:
		return e.object(v)
	default: // a float64, which is finite
		encoded, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return e.put(string(encoded))
	}
}

// put writes text that is JSON already.
func (e *encoder) put(text string) error {
	if len(e.to)+len(text) > e.most {
		return ErrTooLong
	}
	e.to = append(e.to, text...)
	return e.in.budget.take(writing(len(text)))
}

func (e *encoder) text(v string) error {
	if len(e.to)+len(v) > e.most {
		return ErrTooLong
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.put(string(encoded))
}

func (e *encoder) list(v []any) error {
	if err := e.put("["); err != nil {
		return err
	}
	for i, element := range v {
		if i > 0 {
			if err := e.put(","); err != nil {
				return err
			}
		}
		if err := e.value(element); err != nil {
			return err
		}
	}
	return e.put("]")
}

func (e *encoder) object(v map[string]any) error {
	if err := e.put("{"); err != nil {
		return err
	}
	keys, err := e.in.keys(v)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if i > 0 {
			if err := e.put(","); err != nil {
				return err
			}
		}
		if err := e.text(key); err != nil {
			return err
		}
		if err := e.put(":"); err != nil {
			return err
		}
		if err := e.value(v[key]); err != nil {
			return err
		}
	}
	return e.put("}")
}
