package throughput

import (
	"encoding/json"
	"strings"
)

// oneItem is what a single call says of the item or the items that it is for.
type oneItem struct {
	key, item     json.RawMessage // the whole key, or the item that is put
	condition     string          // of a query
	names, values json.RawMessage // that the condition refers to
}

// Partition is the value of the partition key that a single call is for, where the
// name of its attribute is known. ok is false for scans, for calls that name several
// items, and where the value is not told: by an update, that of an index's key.
func (r Request) Partition(attribute string) (value string, ok bool) {
	for _, raw := range []json.RawMessage{r.one.key, r.one.item} {
		var item map[string]json.RawMessage
		if len(raw) > 0 && json.Unmarshal(raw, &item) == nil {
			if value, ok = Key(item, []string{attribute}); ok {
				return value, true
			}
		}
	}
	return r.one.queried(attribute)
}

// queried is the value that a query's key condition gives the attribute: one of its
// terms is "name = :value", in either order, with or without "#" in front.
func (o oneItem) queried(attribute string) (value string, ok bool) {
	var names map[string]string
	var values map[string]json.RawMessage
	_ = json.Unmarshal(o.names, &names)   // what can't be read is absent
	_ = json.Unmarshal(o.values, &values) // likewise
	for _, term := range terms(o.condition) {
		left, right, equal := strings.Cut(term, "=")
		left, right = strings.TrimSpace(left), strings.TrimSpace(right)
		if strings.HasPrefix(left, ":") {
			left, right = right, left
		}
		if name, given := names[left]; given {
			left = name
		}
		if raw, given := values[right]; equal && left == attribute && given {
			return Key(map[string]json.RawMessage{attribute: raw}, []string{attribute})
		}
	}
	return "", false
}

// terms are the parts of a key condition between its ANDs; that of a BETWEEN cuts it
// into two that are no equations.
func terms(condition string) (all []string) {
	words := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(condition))
	var term []string
	for _, word := range words {
		if strings.EqualFold(word, "and") {
			all, term = append(all, strings.Join(term, " ")), nil
			continue
		}
		term = append(term, word)
	}
	return append(all, strings.Join(term, " "))
}
