package throughput

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// KeyNames are the names of a key's attributes, sorted.
func KeyNames(key map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(key)) }

// Key identifies an item by these attributes, so that two spellings of one key
// are the same: {"N":"1.0"} and {"N":"1"}, with and without white space. ok is
// false where an attribute is missing.
func Key(item map[string]json.RawMessage, names []string) (key string, ok bool) {
	var b strings.Builder
	for _, name := range names {
		raw, there := item[name]
		if !there {
			return "", false
		}
		var typed map[string]string
		if json.Unmarshal(raw, &typed) != nil || len(typed) != 1 {
			b.WriteString(strconv.Quote(name) + compact(raw))
			continue
		}
		for kind, value := range typed {
			if kind == "N" {
				value = number(value)
			}
			b.WriteString(strconv.Quote(name) + kind + strconv.Quote(value))
		}
	}
	return b.String(), true
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// number is the one spelling of a decimal number: digits without zeros around
// them, and an exponent.
func number(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	mantissa, exponentText, _ := strings.Cut(text, "e")
	exponent := 0
	if exponentText != "" {
		n, err := strconv.Atoi(exponentText)
		if err != nil {
			return text
		}
		exponent = n
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign = "-"
	}
	whole, fraction, _ := strings.Cut(strings.TrimLeft(mantissa, "+-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if trimmed == "" {
		return "0"
	}
	return sign + trimmed + "e" + strconv.Itoa(exponent)
}
