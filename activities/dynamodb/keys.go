package dynamodb

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"sluice/activities"
	"sluice/internal/throughput"
)

// keysKept is how long a table's key is believed to be what it was. What is
// dropped because of it is decided by a fresh look.
const keysKept = 10 * time.Minute

// tableKeys are the key attributes of tables, as described lately.
type tableKeys struct {
	mu    sync.Mutex
	known map[string]tableKey
	// asking says that the key of a table is being looked up for the scheduler.
	asking bool
}

type tableKey struct {
	names      []string
	partitions map[string]string // attribute of the partition key by index, "" the table's
	at         time.Time
}

func (k *tableKeys) get(table string, now time.Time) (names []string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.known[table]
	return known.names, ok && now.Sub(known.at) < keysKept
}

func (k *tableKeys) put(table string, key tableKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= mostTables {
		k.known = map[string]tableKey{} // bounded; what is in use is asked again
	}
	k.known[table] = key
}

// partition is the attribute of the partition key of a table or index, as it was
// last described; "" where it was not, and then somebody looks.
func (d *Activities) partition(table, index string) string {
	d.keys.mu.Lock()
	defer d.keys.mu.Unlock()
	known, ok := d.keys.known[table]
	if !ok && !d.keys.asking {
		d.keys.asking = true
		d.scheduler.Background(func(ctx context.Context) { d.learnKey(ctx, table) })
	}
	return known.partitions[index]
}

// learnKey describes a table, one at a time; where that fails, the next hot key of
// it asks again.
func (d *Activities) learnKey(ctx context.Context, table string) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := d.describeKey(ctx, &attempt{}, table); err != nil {
		d.logger.Debug("the key of a table with a hot key is not known", "table", table, "error", err)
	}
	d.keys.mu.Lock()
	defer d.keys.mu.Unlock()
	d.keys.asking = false
}

const mostTables = 1000

// lastWrites leaves of the writes to one key the last. Which writes have the same
// key is known by the table's description; without leave to ask for it, those in
// the same words have.
func (d *Activities) lastWrites(ctx context.Context, a *attempt, writes []tableWrite) ([]tableWrite, error) {
	var last []tableWrite
	for _, table := range tablesOf(writes) {
		own := slices.DeleteFunc(slices.Clone(writes), func(w tableWrite) bool { return w.table != table })
		if len(own) > 1 {
			var err error
			if own, err = d.lastOfTable(ctx, a, table, own); err != nil {
				return nil, err
			}
		}
		last = append(last, own...)
	}
	return last, nil
}

func (d *Activities) lastOfTable(ctx context.Context, a *attempt, table string, writes []tableWrite) ([]tableWrite, error) {
	if names, known := d.keys.get(table, time.Now()); known && len(lastByKey(writes, names)) == len(writes) {
		return writes, nil
	}
	names, err := d.describeKey(ctx, a, table)
	if activities.TypeOf(err) == activities.TypeAccessDenied {
		return lastByKey(writes, nil), nil
	}
	if err != nil {
		return nil, err
	}
	return lastByKey(writes, names), nil
}

// describeKey asks for the names of a table's key attributes.
func (d *Activities) describeKey(ctx context.Context, a *attempt, table string) ([]string, error) {
	answer, err := d.Call(ctx, "DescribeTable", encode(map[string]string{"TableName": table}, nil), a.class+1)
	if err != nil {
		return nil, err
	}
	var told struct {
		Table struct {
			KeySchema              keySchema
			GlobalSecondaryIndexes []describedIndexKey
			LocalSecondaryIndexes  []describedIndexKey
		}
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		return nil, err
	}
	key := tableKey{at: time.Now(), partitions: map[string]string{"": told.Table.KeySchema.partition()}}
	for _, attribute := range told.Table.KeySchema {
		key.names = append(key.names, attribute.AttributeName)
	}
	slices.Sort(key.names)
	for _, index := range append(told.Table.GlobalSecondaryIndexes, told.Table.LocalSecondaryIndexes...) {
		key.partitions[index.IndexName] = index.KeySchema.partition()
	}
	d.keys.put(table, key)
	return key.names, nil
}

// keySchema is the attributes of a key.
type keySchema []struct{ AttributeName, KeyType string }

func (k keySchema) partition() string {
	for _, attribute := range k {
		if attribute.KeyType == "HASH" {
			return attribute.AttributeName
		}
	}
	return ""
}

type describedIndexKey struct {
	IndexName string
	KeySchema keySchema
}

// lastByKey keeps the last write of each key. One whose key can't be read, for the
// service to refuse, is told from others by its words.
func lastByKey(writes []tableWrite, names []string) (last []tableWrite) {
	seen := map[string]bool{}
	for _, w := range slices.Backward(writes) {
		if key := w.key(names); !seen[key] {
			seen[key] = true
			last = append(last, w)
		}
	}
	slices.Reverse(last)
	return last
}

func (w tableWrite) key(names []string) string {
	var request struct {
		PutRequest    struct{ Item map[string]json.RawMessage }
		DeleteRequest struct{ Key map[string]json.RawMessage }
	}
	if len(names) > 0 && json.Unmarshal(w.request, &request) == nil {
		item := request.PutRequest.Item
		if item == nil {
			item = request.DeleteRequest.Key
		}
		if key, ok := throughput.Key(item, names); ok {
			return key
		}
	}
	var words bytes.Buffer
	if json.Compact(&words, w.request) != nil {
		return string(w.request)
	}
	return words.String()
}

func tablesOf(writes []tableWrite) (tables []string) {
	for _, w := range writes {
		if len(tables) == 0 || tables[len(tables)-1] != w.table {
			tables = append(tables, w.table)
		}
	}
	return tables
}
