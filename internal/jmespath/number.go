package jmespath

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"sluice/internal/limits"
)

// An InexactError is the error of an expression that compares or calculates with
// a number that a float64 can't hold as it is written.
type InexactError struct{ Number string }

func (e *InexactError) Error() string {
	return fmt.Sprintf("%s: a number that float64 can't hold exactly, or written with an exponent, can be passed on but not compared or calculated with", e.Number)
}

// asNumber is v as a float64; isNumber is false where v is no number.
func asNumber(v any) (f float64, isNumber bool, err error) {
	switch v := v.(type) {
	case float64:
		return v, true, nil
	case json.Number:
		f, ok := asFloat(string(v))
		if !ok {
			return 0, true, &InexactError{Number: limits.Clip(string(v), 60)}
		}
		return f, true, nil
	default:
		return 0, false, nil
	}
}

// sameNumber compares two numbers. Those that differ as float64s differ, however
// they were rounded.
func sameNumber(a, b any) (bool, error) {
	if a == b {
		return true, nil
	}
	x, _, err := asNumber(a)
	if err != nil {
		x = nearest(a)
	}
	y, _, errOther := asNumber(b)
	if errOther != nil {
		y = nearest(b)
		err = errOther
	}
	if x != y {
		return false, nil
	}
	return err == nil, err
}

// nearest is the float64 that is nearest to a number, infinite where it is too
// large.
func nearest(v any) float64 {
	text, ok := v.(json.Number)
	if !ok {
		f, _ := v.(float64)
		return f
	}
	f, _ := strconv.ParseFloat(string(text), 64)
	return f
}

// exactDigits is how many significant decimal digits every float64 gives back.
const exactDigits = 15

// asFloat converts a number that comes back with the same value. Exponents and
// very long numbers are left alone: comparing them exactly can cost any memory.
func asFloat(text string) (float64, bool) {
	const longest = 40
	if len(text) > longest || strings.IndexByte(text, 'e') >= 0 || strings.IndexByte(text, 'E') >= 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) <= exactDigits {
		return f, err == nil
	}
	was, okWas := new(big.Rat).SetString(text)
	is, okIs := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
	return f, okWas && okIs && was.Cmp(is) == 0
}

// parsedNumber is the number that text is written as, in JSON's way; nil where it
// is none.
func parsedNumber(text string) any {
	if text == "" || !isDigit(text[len(text)-1]) || text[0] != '-' && !isDigit(text[0]) || !json.Valid([]byte(text)) {
		return nil
	}
	return json.Number(text)
}

// finite refuses what a calculation must not give.
func finite(f float64) (any, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("the result is too large for a number")
	}
	return f, nil
}
