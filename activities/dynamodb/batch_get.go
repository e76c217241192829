package dynamodb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/activities"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// tableRead is what a BatchGetItem reads of one table.
type tableRead struct {
	table    string
	settings object   // all but the keys
	names    []string // of the key's attributes
	added    []string // attributes that only we asked for
	order    []string // the keys in the caller's order, with repetitions
	keys     map[string]json.RawMessage
	found    map[string]json.RawMessage // null: there is no such item
}

// batchRead reads any number of items: 100 keys a request, each key once,
// repeated until the service has answered for every one. The answer holds the
// items in the order of the keys, as often as their key was given. A repeat goes
// on from what was read, as far as it travelled.
func (d *Activities) batchRead(ctx context.Context, a *attempt, r throughput.Request, document json.RawMessage) (json.RawMessage, error) {
	envelope, err := objectIn(document)
	if err != nil {
		return nil, invalid(r, err)
	}
	reads, err := readsIn(envelope["RequestItems"])
	if err != nil {
		return nil, invalid(r, err)
	}
	if slices.ContainsFunc(reads, func(read *tableRead) bool { return len(read.order) == 0 }) {
		return d.call(ctx, a, r, document) // for the service to refuse
	}
	if a.trail != nil && a.trail.now.Done != nil {
		for _, read := range reads {
			maps.Copy(read.found, a.trail.now.Done.Items[read.table])
		}
	}
	costs := bill{}
	var progress rounds
	for {
		items, asked := nextReads(reads)
		if asked == 0 {
			return answerOf(reads, costs)
		}
		request, err := envelope.with("RequestItems", items)
		if err != nil {
			return nil, err
		}
		answer, r, err := d.part(ctx, a, request, costs)
		if err != nil {
			return nil, err
		}
		left, err := takeIn(reads, items, answer)
		if err != nil {
			return nil, activities.Fail(activities.TypeUnavailable, activities.Failure{ErrorDetails: activities.ErrorDetails{Operation: wire.DynamoDBPrefix + a.operation, Target: r.Target()}, Message: err.Error(), Checkpoint: a.checkpoint()})
		}
		a.read(reads)
		again := progress.next(ctx, left < asked, left > 0)
		if err := activities.Interrupted(ctx, wire.DynamoDBPrefix+a.operation, a.checkpoint()); err != nil {
			return nil, err
		}
		if !again {
			return nil, unprocessed(r).error(a)
		}
	}
}

// read leaves what was read so far to the next attempt, if it is not too much.
func (a *attempt) read(reads []*tableRead) {
	if a.trail == nil {
		return
	}
	size, items := 0, map[string]map[string]json.RawMessage{}
	for _, read := range reads {
		for _, item := range read.found {
			size += len(item)
		}
		items[read.table] = maps.Clone(read.found)
	}
	if size > carried {
		items = nil
	}
	a.trail.achieved(&batchDone{Items: items})
}

func readsIn(raw json.RawMessage) (reads []*tableRead, err error) {
	var tables map[string]object
	if json.Unmarshal(raw, &tables) != nil {
		return nil, fmt.Errorf("RequestItems: not an object of keys by table")
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		read := &tableRead{table: table, settings: tables[table], keys: object{}, found: object{}}
		var keys []json.RawMessage
		if json.Unmarshal(read.settings["Keys"], &keys) != nil {
			return nil, fmt.Errorf("RequestItems.%s.Keys: not a list of keys", table)
		}
		for i, raw := range keys {
			attributes, err := objectIn(raw)
			if err != nil || len(attributes) == 0 {
				return nil, fmt.Errorf("RequestItems.%s.Keys[%d]: not a key", table, i)
			}
			if read.names == nil {
				read.names = throughput.KeyNames(attributes)
			}
			key, ok := throughput.Key(attributes, read.names)
			if !ok || len(attributes) != len(read.names) {
				return nil, fmt.Errorf("RequestItems.%s.Keys[%d]: other attributes than the first key's", table, i)
			}
			read.order = append(read.order, key)
			read.keys[key] = raw
		}
		read.project()
		reads = append(reads, read)
	}
	return reads, nil
}

// project adds the key to what is read where the caller left it out: without it
// an item can't be told from another. It is taken out of the answer again.
func (t *tableRead) project() {
	var expression string
	if raw, ok := t.settings["ProjectionExpression"]; !ok || json.Unmarshal(raw, &expression) != nil {
		return
	}
	placeholders := map[string]string{}
	if raw, ok := t.settings["ExpressionAttributeNames"]; ok {
		if json.Unmarshal(raw, &placeholders) != nil {
			return // the service tells
		}
	}
	projected := map[string]bool{}
	for _, path := range strings.Split(expression, ",") {
		path = strings.TrimSpace(path)
		if name, ok := placeholders[path]; ok {
			path = name
		}
		projected[path] = true
	}
	for i, name := range t.names {
		if !projected[name] {
			placeholder := fmt.Sprintf("#sluiceKey%d", i)
			placeholders[placeholder] = name
			expression += ", " + placeholder
			t.added = append(t.added, name)
		}
	}
	if len(t.added) == 0 {
		return
	}
	t.settings["ProjectionExpression"] = encode(expression, nil)
	t.settings["ExpressionAttributeNames"] = encode(placeholders, nil)
}

// nextReads are the next keys, at most as many as a request takes.
func nextReads(reads []*tableRead) (items map[string]object, asked int) {
	items = map[string]object{}
	for _, read := range reads {
		var keys []json.RawMessage
		given := map[string]bool{}
		for _, key := range read.order {
			if _, known := read.found[key]; known || given[key] {
				continue
			}
			if asked == mostReads {
				break
			}
			given[key] = true
			keys = append(keys, read.keys[key])
			asked++
		}
		if len(keys) > 0 {
			settings := maps.Clone(read.settings)
			settings["Keys"] = encode(keys, nil)
			items[read.table] = settings
		}
	}
	return items, asked
}

// takeIn sorts an answer into what was found, what is absent, and what is left to
// be asked again. Only what the service does not name as unprocessed is absent.
func takeIn(reads []*tableRead, items map[string]object, answer json.RawMessage) (left int, err error) {
	var told struct {
		Responses       map[string][]object
		UnprocessedKeys map[string]struct{ Keys []object }
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		return 0, err
	}
	for _, read := range reads {
		settings, asked := items[read.table]
		if !asked {
			continue
		}
		unprocessed := map[string]bool{}
		for _, attributes := range of(told.UnprocessedKeys, read.table).Keys {
			key, _ := throughput.Key(attributes, read.names)
			unprocessed[key] = true
			left++
		}
		for _, item := range of(told.Responses, read.table) {
			key, ok := throughput.Key(item, read.names)
			if _, wanted := read.keys[key]; !ok || !wanted {
				return left, fmt.Errorf("%s: the answer holds an item that was not asked for", read.table)
			}
			for _, name := range read.added {
				delete(item, name)
			}
			read.found[key] = encode(item, nil)
		}
		var keys []object
		if err := json.Unmarshal(settings["Keys"], &keys); err != nil {
			return left, err
		}
		for _, attributes := range keys {
			key, _ := throughput.Key(attributes, read.names)
			if _, found := read.found[key]; !found && !unprocessed[key] {
				read.found[key] = json.RawMessage("null")
			}
		}
	}
	return left, nil
}

// of finds a table in an answer, which names it as the request did, or by its name
// where that had an ARN.
func of[V any](tables map[string]V, table string) V {
	if v, ok := tables[table]; ok {
		return v
	}
	return tables[throughput.TableName(table)]
}

func answerOf(reads []*tableRead, costs bill) (json.RawMessage, error) {
	responses := map[string][]json.RawMessage{}
	for _, read := range reads {
		items := []json.RawMessage{}
		for _, key := range read.order {
			if item := read.found[key]; string(item) != "null" {
				items = append(items, item)
			}
		}
		responses[read.table] = items
	}
	return json.Marshal(object{
		"Responses":        encode(responses, nil),
		"UnprocessedKeys":  json.RawMessage("{}"),
		"ConsumedCapacity": costs.consumedCapacity(),
	})
}
