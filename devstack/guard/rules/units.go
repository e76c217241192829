package rules

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
)

// Item is a DynamoDB item or key, attribute values as they are on the wire.
type Item map[string]json.RawMessage

// WriteUnits is what a write of so many bytes costs: one unit each begun KiB.
func WriteUnits(bytes int) float64 { return max(1, math.Ceil(float64(bytes)/1024)) }

// Size is what DynamoDB counts: the names and the values, in bytes. (Numbers by
// their digits, two to a byte; three bytes for a list or map and one an element.)
func (i Item) Size() int {
	n := 0
	for name, value := range i {
		n += len(name) + valueSize(value)
	}
	return n
}

func valueSize(raw json.RawMessage) int {
	var value map[string]json.RawMessage
	if json.Unmarshal(raw, &value) != nil {
		return 0
	}
	for kind, content := range value {
		return contentSize(kind, content)
	}
	return 0
}

func contentSize(kind string, content json.RawMessage) int {
	var text string
	var texts []string
	var list []json.RawMessage
	n := 0
	switch kind {
	case "S", "N", "B":
		_ = json.Unmarshal(content, &text)
		return scalarSize(kind, text)
	case "SS", "NS", "BS":
		_ = json.Unmarshal(content, &texts)
		for _, text := range texts {
			n += scalarSize(kind[:1], text)
		}
		return n
	case "L":
		_ = json.Unmarshal(content, &list)
		for _, value := range list {
			n += 1 + valueSize(value)
		}
		return n + 3
	case "M":
		var item Item
		_ = json.Unmarshal(content, &item)
		return item.Size() + len(item) + 3
	}
	return 1 // BOOL, NULL
}

func scalarSize(kind, text string) int {
	switch kind {
	case "N":
		return (len(strings.Trim(text, "-0."))+1)/2 + 1
	case "B":
		return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "=")))
	}
	return len(text)
}

// An Index is what a secondary index holds of its table's items.
type Index struct {
	Name   string
	Global bool
	// Key are the attributes that an item must have to be in the index.
	Key []string
	// All attributes are projected; else Key, the table's key, and Others.
	All    bool
	Others []string
}

// Entry is what the index holds of an item: nil if the item is not in it.
func (x Index) Entry(item Item, tableKey []string) Item {
	for _, name := range x.Key {
		if _, in := item[name]; !in {
			return nil
		}
	}
	if x.All {
		return item
	}
	entry := Item{}
	for _, names := range [][]string{x.Key, tableKey, x.Others} {
		for _, name := range names {
			if value, in := item[name]; in {
				entry[name] = value
			}
		}
	}
	return entry
}

// IndexWriteUnits is what turning one item into another (nil: absent) costs in
// an index: nothing when its entry stays as it is, one write when it comes, goes
// or changes, and two when its key changes, since it then goes and comes.
func IndexWriteUnits(x Index, tableKey []string, before, after Item) float64 {
	was, is := x.Entry(before, tableKey), x.Entry(after, tableKey)
	switch {
	case was == nil && is == nil, was.equal(is):
		return 0
	case was == nil:
		return WriteUnits(is.Size())
	case is == nil:
		return WriteUnits(was.Size())
	case was.same(is, x.Key):
		return WriteUnits(max(was.Size(), is.Size()))
	}
	return WriteUnits(was.Size()) + WriteUnits(is.Size())
}

func (i Item) equal(other Item) bool {
	if (i == nil) != (other == nil) || len(i) != len(other) {
		return false
	}
	for name, value := range i {
		if !sameValue(value, other[name]) {
			return false
		}
	}
	return true
}

func (i Item) same(other Item, names []string) bool {
	for _, name := range names {
		if !sameValue(i[name], other[name]) {
			return false
		}
	}
	return true
}

// sameValue compares wire forms apart from their spaces.
func sameValue(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
