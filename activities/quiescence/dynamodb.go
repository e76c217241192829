package quiescence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"sluice/activities/dynamodb"
	"sluice/internal/quiescence"
)

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
	return dynamodb.WholeNumber(*value.N)
}
