package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"sluice/internal/throughput"
)

// tableWrite is one request of a BatchWriteItem.
type tableWrite struct {
	table   string
	request json.RawMessage
}

// batchWrite writes any number of items: 25 a request, each request repeated
// until nothing of it is left unprocessed, in the order of the document's lists.
// What is asked for twice in the same words is written once. A repeat goes on
// behind the last request that was whole.
func (d *DynamoDB) batchWrite(ctx context.Context, a *attempt, document json.RawMessage) (json.RawMessage, error) {
	envelope, err := objectIn(document)
	if err != nil {
		return nil, Invalid("DynamoDB."+a.operation, err)
	}
	writes, err := writesIn(envelope["RequestItems"])
	if err != nil {
		return nil, Invalid("DynamoDB."+a.operation, err)
	}
	costs, metrics := bill{}, map[string][]json.RawMessage{}
	done := 0
	if a.trail != nil && a.trail.now.Done != nil {
		done = min(a.trail.now.Done.Written, len(writes))
	}
	for done < len(writes) {
		chunk := writes[done:min(done+mostWrites, len(writes))]
		if err := d.writeWhole(ctx, a, envelope, chunk, costs, metrics); err != nil {
			return nil, err
		}
		done += len(chunk)
		if a.trail != nil {
			a.trail.achieved(&batchDone{Written: done})
		}
	}
	answer := object{"UnprocessedItems": json.RawMessage("{}"), "ConsumedCapacity": costs.consumedCapacity()}
	if len(metrics) > 0 {
		answer["ItemCollectionMetrics"] = encode(metrics, nil)
	}
	return json.Marshal(answer)
}

// writeWhole sends a request until all of it is processed.
func (d *DynamoDB) writeWhole(ctx context.Context, a *attempt, envelope object, chunk []tableWrite,
	costs bill, metrics map[string][]json.RawMessage,
) error {
	var progress rounds
	for len(chunk) > 0 {
		items := map[string][]json.RawMessage{}
		for _, w := range chunk {
			items[w.table] = append(items[w.table], w.request)
		}
		request, err := envelope.with("RequestItems", items)
		if err != nil {
			return err
		}
		answer, r, err := d.part(ctx, a, request, costs)
		if err != nil {
			return err
		}
		var told struct {
			UnprocessedItems      json.RawMessage
			ItemCollectionMetrics map[string][]json.RawMessage
		}
		if err := json.Unmarshal(answer, &told); err != nil {
			return err
		}
		for table, list := range told.ItemCollectionMetrics {
			metrics[table] = append(metrics[table], list...)
		}
		left, err := writesIn(told.UnprocessedItems)
		if err != nil {
			return err
		}
		again := progress.next(ctx, len(left) < len(chunk), len(left) > 0)
		chunk = left
		if err := Interrupted(ctx, "DynamoDB."+a.operation, a.checkpoint()); err != nil {
			return err
		}
		if !again {
			return unprocessed(r).error(a)
		}
	}
	return nil
}

// writesIn lists the requests, table by table, without repetitions.
func writesIn(raw json.RawMessage) (writes []tableWrite, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var items map[string][]json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	for _, table := range slices.Sorted(maps.Keys(items)) {
		seen := map[string]bool{}
		for _, request := range items[table] {
			var words bytes.Buffer
			if err := json.Compact(&words, request); err != nil {
				return nil, err
			}
			if !seen[words.String()] {
				seen[words.String()] = true
				writes = append(writes, tableWrite{table, request})
			}
		}
	}
	return writes, nil
}

// unprocessedIn counts what an answer to a batch left, which is what the service
// had no capacity for.
func unprocessedIn(r throughput.Request, answer json.RawMessage) (n int) {
	if !r.Batch {
		return 0
	}
	var told struct {
		UnprocessedItems map[string][]json.RawMessage
		UnprocessedKeys  map[string]struct{ Keys []json.RawMessage }
	}
	if json.Unmarshal(answer, &told) != nil {
		return 0
	}
	for _, list := range told.UnprocessedItems {
		n += len(list)
	}
	for _, keys := range told.UnprocessedKeys {
		n += len(keys.Keys)
	}
	return n
}
