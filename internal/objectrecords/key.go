package objectrecords

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"sluice/internal/document"
	"sluice/internal/jmespath"
)

// A Key makes the partition key of a record.
type Key struct {
	constant string
	path     *jmespath.Expression
	source   string
}

// NewKey reads how keys are made: "" is a hash of the record, text in
// backquotes a constant, anything else a JMESPath expression over the record
// as JSON.
func NewKey(text string) (Key, error) {
	if text == "" {
		return Key{}, nil
	}
	if inner, ok := strings.CutPrefix(text, "`"); ok && strings.HasSuffix(inner, "`") {
		inner = strings.TrimSuffix(inner, "`")
		if !strings.Contains(inner, "`") {
			return newConstant(inner)
		}
	}
	path, err := jmespath.Compile(text)
	if err != nil {
		return Key{}, fmt.Errorf("not a JMESPath expression: %w", err)
	}
	return Key{path: path, source: text}, nil
}

// maxSteps is what the key of one record may cost to find: a fraction of a second,
// for the largest of records.
const maxSteps = 4_000_000

func newConstant(text string) (Key, error) {
	var quoted string
	if json.Unmarshal([]byte(text), &quoted) == nil {
		if !document.IsText([]byte(text)) {
			return Key{}, fmt.Errorf("the constant has half a character")
		}
		text = quoted
	}
	if text == "" {
		return Key{}, fmt.Errorf("the constant is empty")
	}
	return Key{constant: text}, nil
}

// Of is the key of a record; bad says why it has none.
func (k Key) Of(record []byte) (key, bad string) {
	switch {
	case k.constant != "":
		return k.constant, ""
	case k.path == nil:
		var sum [8]byte
		binary.BigEndian.PutUint64(sum[:], xxhash.Sum64(record))
		return hex.EncodeToString(sum[:]), ""
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(record))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil || decoder.InputOffset() < int64(len(bytes.TrimRight(record, " \t\r\n"))) {
		return "", "the partition key is taken from JSON, which the record is not"
	}
	found, err := k.path.Search(value, jmespath.NewBudget(maxSteps))
	if err != nil {
		return "", fmt.Sprintf("the partition key %s: %v", k.source, err)
	}
	switch v := found.(type) {
	case string:
		if strings.ContainsRune(v, utf8.RuneError) && !document.IsText(record) {
			return "", fmt.Sprintf("the partition key %s is not text: it has half a character", k.source)
		}
		return v, ""
	case json.Number:
		return v.String(), ""
	case float64, bool:
		text, _ := json.Marshal(v) // a number or boolean has a JSON form
		return string(text), ""
	}
	return "", fmt.Sprintf("the partition key %s finds no text and no number in the record", k.source)
}
