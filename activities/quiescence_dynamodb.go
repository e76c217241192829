package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"

	"sluice/internal/document"
	"sluice/internal/quiescence"
)

// DynamoDBSource is an item, such as the counter that CountObjects keeps. Any
// change of the item is a change; a number attribute of it is the count. As long
// as there is no such item nothing was started.
type DynamoDBSource struct {
	Table     string          `json:"table" doc:"required"`
	Key       json.RawMessage `json:"key" doc:"required"` // as DynamoDB has it: {"id":{"S":"x"}}
	Attribute string          `json:"attribute"`
}

// SetDefaults names the attribute of CountObjects.
func (s *DynamoDBSource) SetDefaults() { s.Attribute = "num_records" }

func (s *DynamoDBSource) check(faults *document.Faults, path string) {
	if s.Table == "" && !faults.Has(path+".table") {
		faults.Add(path+".table", "empty")
	}
	var key map[string]map[string]any
	if len(s.Key) > 0 && (json.Unmarshal(s.Key, &key) != nil || len(key) == 0) {
		faults.Add(path+".key", `not a key as DynamoDB has it, such as {"id":{"S":"x"}}`)
	}
	if s.Attribute == "" {
		faults.Add(path+".attribute", "empty")
	}
}

func (s *DynamoDBSource) target() string { return s.Table }

type itemPoll struct {
	items     ItemReader
	table     string
	key       json.RawMessage
	attribute string
}

// poll reads the item with a strongly consistent read: an eventually consistent
// one may return the same old state again and again while the item changes.
func (p *itemPoll) poll(ctx context.Context, _ func()) (quiescence.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	item, err := p.items.Item(ctx, p.table, p.key)
	if err != nil {
		return quiescence.Reading{}, err
	}
	if item == nil {
		return quiescence.Reading{}, nil
	}
	count, err := numberIn(item, p.attribute)
	if err != nil {
		return quiescence.Reading{}, err
	}
	text, err := canonical(item)
	if err != nil {
		return quiescence.Reading{}, err
	}
	return quiescence.Reading{Version: digestOf(text), Count: count, Present: true}, nil
}

func digestOf(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:16])
}

// numberIn reads a number attribute of an item; one that isn't there is 0.
func numberIn(item json.RawMessage, attribute string) (int64, error) {
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(item, &attributes); err != nil {
		return 0, err
	}
	raw, ok := attributes[attribute]
	if !ok {
		return 0, nil
	}
	var value struct{ N *string }
	if err := json.Unmarshal(raw, &value); err != nil || value.N == nil {
		return 0, fmt.Errorf("attribute %q is no number", attribute)
	}
	return wholeNumber(*value.N)
}

// wholeNumber reads a DynamoDB number, of any size and notation, as the nearest
// int64 below it.
func wholeNumber(text string) (int64, error) {
	f, _, err := big.ParseFloat(text, 10, 256, big.ToZero)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", text)
	}
	n, _ := f.Int64() // what is beyond an int64 becomes the nearest one
	return n, nil
}
