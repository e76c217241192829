package quiescence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"sluice/activities"
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
func (p *itemPoll) poll(ctx context.Context) (quiescence.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	item, took, err := p.inTurn(ctx)
	if err != nil {
		return quiescence.Reading{}, err
	}
	if item == nil {
		return quiescence.Reading{Slowest: took}, nil
	}
	count, err := numberIn(item, p.attribute)
	if err != nil {
		return quiescence.Reading{}, err
	}
	text, err := canonical(item)
	if err != nil {
		return quiescence.Reading{}, err
	}
	return quiescence.Reading{Version: digestOf(text), Count: count, Present: true, Slowest: took}, nil
}

// inTurn reads the item when its turn has come. A read that the worker's own throttle
// sends back, as it does while it is not known yet how much the table takes, was never
// sent: the poll waits for its turn, as long as a poll may take. What the service
// refuses is a failed poll. took is how long the read itself did.
func (p *itemPoll) inTurn(ctx context.Context) (item json.RawMessage, took time.Duration, err error) {
	for {
		began := time.Now()
		item, err := p.items.Item(ctx, p.table, p.key)
		delay, own := sentBack(err)
		if until, ok := ctx.Deadline(); !own || !ok || time.Until(until) <= delay {
			return item, time.Since(began), err
		}
		if err := activities.Sleep(ctx, delay); err != nil {
			return nil, 0, err
		}
	}
}

// sentBack tells of an error by which the worker's own throttle put a call off, and
// for how long: it has no code of the service.
func sentBack(err error) (delay time.Duration, own bool) {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || application.Type() != activities.TypeThrottled {
		return 0, false
	}
	details, known := activities.DetailsOf(err)
	return max(application.NextRetryDelay(), shortestTurn), known && details.Code == ""
}

// shortestTurn keeps reads that are put off for no time at all from spinning.
const shortestTurn = 100 * time.Millisecond

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
