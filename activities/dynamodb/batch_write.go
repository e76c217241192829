package dynamodb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sluice/activities"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// tableWrite is one request of a BatchWriteItem.
type tableWrite struct {
	table   string
	request json.RawMessage
	at      int // its place among all requests of the document
}

// batchWrite writes any number of items: 25 a request, each request repeated
// until nothing of it is left unprocessed, in the order of the document's lists.
// Of several writes to one key the last is sent, as if all had been, one after the
// other; the service would refuse two in one request. A repeat goes on behind the
// last request that was whole.
func (d *Activities) batchWrite(ctx context.Context, a *attempt, r throughput.Request, document json.RawMessage) (json.RawMessage, error) {
	envelope, err := objectIn(document)
	if err != nil {
		return nil, invalid(r, err)
	}
	all, err := writesIn(envelope["RequestItems"])
	if err != nil {
		return nil, invalid(r, err)
	}
	if len(all) == 0 {
		return d.call(ctx, a, r, document) // for the service to refuse
	}
	writes, err := d.lastWrites(ctx, a, all)
	if err != nil {
		return nil, err
	}
	if a.trail != nil && a.trail.now.Done != nil {
		a.applied = min(a.trail.now.Done.Written, len(all))
		writes = slices.DeleteFunc(writes, func(w tableWrite) bool { return w.at < a.applied })
	}
	costs, metrics := bill{}, map[string][]json.RawMessage{}
	for chunk := range slices.Chunk(writes, mostWrites) {
		if err := d.writeWhole(ctx, a, envelope, chunk, costs, metrics); err != nil {
			return nil, err
		}
		a.applied = chunk[len(chunk)-1].at + 1
		if a.trail != nil {
			a.trail.achieved(&batchDone{Written: a.applied})
		}
	}
	answer := object{"UnprocessedItems": json.RawMessage("{}"), "ConsumedCapacity": costs.consumedCapacity()}
	if len(metrics) > 0 {
		answer["ItemCollectionMetrics"] = encode(metrics, nil)
	}
	return json.Marshal(answer)
}

// writeWhole sends a request until all of it is processed.
func (d *Activities) writeWhole(ctx context.Context, a *attempt, envelope object, chunk []tableWrite,
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
		if err := activities.Interrupted(ctx, wire.DynamoDBPrefix+a.operation, a.checkpoint()); err != nil {
			return err
		}
		if !again {
			return unprocessed(r).error(a)
		}
	}
	return nil
}

// writesIn lists the requests, table by table.
func writesIn(raw json.RawMessage) (writes []tableWrite, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var items map[string][]json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil, fmt.Errorf("RequestItems: not an object of lists of requests by table")
	}
	for _, table := range slices.Sorted(maps.Keys(items)) {
		for _, request := range items[table] {
			writes = append(writes, tableWrite{table, request, len(writes)})
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
