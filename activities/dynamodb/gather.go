package dynamodb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/activities"
	"sluice/internal/throughput"
)

// gatherFor is how long a read of an item waits for others of its table. Polls that
// are far apart end on the same grid (together), so most that can be joined come
// within a millisecond.
const gatherFor = 5 * time.Millisecond

// readTimeout bounds one read for many.
const readTimeout = 30 * time.Second

// GatheredReads reads items of one table together, up to a hundred of them with one call,
// where their polls fall due together: a worker that watches a thousand items would
// otherwise spend most of its time on the thousand calls. The items are read
// consistently, and cost the capacity that they would cost one by one; an item that
// several wait for is read once.
type GatheredReads struct {
	call Caller
	mu   sync.Mutex
	open map[string]*gathering // by table and the names of the key's attributes
	// alone has the tables whose items are read one by one, since the role may not
	// read them together.
	alone map[string]bool
}

// NewGatheredReads makes the reads of a worker.
func NewGatheredReads(call Caller) *GatheredReads {
	return &GatheredReads{call: call, open: map[string]*gathering{}, alone: map[string]bool{}}
}

// gathering is one call in the making, then its answer.
type gathering struct {
	name    string // in open
	table   string
	names   []string                   // of the key's attributes
	keys    map[string]json.RawMessage // by throughput.Key
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	items   map[string]json.RawMessage // by throughput.Key; absent where there is no such item
	err     error
}

// Item reads one item, nil where there is none. Errors are those of DynamoDB.Call.
func (g *GatheredReads) Item(ctx context.Context, table string, key json.RawMessage) (json.RawMessage, error) {
	attributes, err := objectIn(key)
	if err != nil {
		return nil, err
	}
	names := throughput.KeyNames(attributes)
	id, _ := throughput.Key(attributes, names)
	joined := g.join(ctx, table, names, id, key)
	if joined == nil {
		return g.one(ctx, table, key)
	}
	defer g.leave(joined)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-joined.done:
	}
	if joined.err != nil && len(joined.keys) > 1 && !shared(joined.err) {
		return g.one(ctx, table, key)
	}
	return joined.items[id], joined.err
}

// shared reports that an error is no one's in particular. Any other may be due to
// one of the keys, or to the call that takes many.
func shared(err error) bool {
	switch activities.TypeOf(err) {
	case activities.TypeThrottled, activities.TypeUnavailable, activities.TypeWorkerStopping:
		return true
	}
	return false
}

// join takes part in the table's next call; nil where its items are read one by one.
func (g *GatheredReads) join(ctx context.Context, table string, names []string, id string, key json.RawMessage) *gathering {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.alone[table] {
		return nil
	}
	name := strings.Join(append([]string{table}, names...), "\x00")
	joined := g.open[name]
	if joined == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		joined = &gathering{name: name, table: table, names: names, keys: map[string]json.RawMessage{}, cancel: cancel, done: make(chan struct{})}
		g.open[name] = joined
		time.AfterFunc(gatherFor, func() { g.finish(ctx, joined) })
	}
	joined.waiting++
	joined.keys[id] = key
	if len(joined.keys) == mostReads {
		g.shut(joined)
	}
	return joined
}

// finish makes the call. It goes on as long as anyone waits for it, whoever began
// it.
func (g *GatheredReads) finish(ctx context.Context, joined *gathering) {
	g.mu.Lock()
	g.shut(joined)
	g.mu.Unlock()
	joined.items, joined.err = g.read(ctx, joined)
	if len(joined.keys) > 1 && activities.TypeOf(joined.err) == activities.TypeAccessDenied {
		g.mu.Lock()
		g.alone[joined.table] = true
		g.mu.Unlock()
	}
	close(joined.done)
}

// leave ends a call that nobody waits for any more.
func (g *GatheredReads) leave(joined *gathering) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if joined.waiting--; joined.waiting == 0 {
		joined.cancel()
		g.shut(joined)
	}
}

// shut lets nobody join any more; the next one begins another.
func (g *GatheredReads) shut(joined *gathering) {
	if g.open[joined.name] == joined {
		delete(g.open, joined.name)
	}
}

func (g *GatheredReads) read(ctx context.Context, joined *gathering) (map[string]json.RawMessage, error) {
	if len(joined.keys) == 1 {
		for id, key := range joined.keys {
			item, err := g.one(ctx, joined.table, key)
			return map[string]json.RawMessage{id: item}, err
		}
	}
	keys := slices.Collect(maps.Values(joined.keys))
	body, err := json.Marshal(map[string]any{"RequestItems": map[string]any{joined.table: map[string]any{"Keys": keys, "ConsistentRead": true}}})
	if err != nil {
		return nil, err
	}
	raw, err := g.call.Call(ctx, "BatchGetItem", body, DefaultPriority)
	if err != nil {
		return nil, err
	}
	var answer struct{ Responses map[string][]json.RawMessage }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("BatchGetItem answered no JSON: %w", err)
	}
	items := map[string]json.RawMessage{}
	for _, item := range of(answer.Responses, joined.table) {
		attributes, err := objectIn(item)
		if err != nil {
			return nil, fmt.Errorf("BatchGetItem answered no item: %w", err)
		}
		id, _ := throughput.Key(attributes, joined.names)
		items[id] = item
	}
	return items, nil
}

// one reads an item by itself.
func (g *GatheredReads) one(ctx context.Context, table string, key json.RawMessage) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"TableName": table, "Key": key, "ConsistentRead": true})
	if err != nil {
		return nil, err
	}
	raw, err := g.call.Call(ctx, "GetItem", body, DefaultPriority)
	if err != nil {
		return nil, err
	}
	var answer struct{ Item json.RawMessage }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("GetItem answered no JSON: %w", err)
	}
	if string(answer.Item) == "null" {
		return nil, nil
	}
	return answer.Item, nil
}
