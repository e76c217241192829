package counting

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"sluice/activities/dynamodb"
	"sluice/internal/s3event"
)

const (
	// intentID is the intent's. Ledger items begin with one "#" and a bucket name.
	intentID = "##intent"
	// mostIntent keeps the intent's document below DynamoDB's 400 KB for an item,
	// base64 and frame included.
	mostIntent = 350 << 10
	// notLater is the condition of every write of a batch but the intent's.
	notLater = "attribute_not_exists(#b) OR #b < :b"
)

type attributeMap map[string]map[string]any

func stringValue(s string) map[string]any { return map[string]any{"S": s} }

func numberValue(n int64) map[string]any { return map[string]any{"N": strconv.FormatInt(n, 10)} }

func boolValue(b bool) map[string]any { return map[string]any{"BOOL": b} }

// intent is the batch that is written or being written.
type intent struct {
	number int64
	owner  string
	batch  s3event.Batch
}

// intentDocument is the PutItem of an intent, on condition that its number is the
// next. The batch is compressed, since capacity is charged by the kilobyte.
func (l *ledger) intentDocument(number int64, batch s3event.Batch) ([]byte, error) {
	packed, err := pack(batch)
	if err != nil {
		return nil, err
	}
	condition := "#b = :b"
	if number == 1 {
		condition = "attribute_not_exists(#b)"
	}
	document := map[string]any{
		"TableName": l.table,
		"Item": attributeMap{
			"id": stringValue(intentID), "batch": numberValue(number), "owner": stringValue(l.owner),
			"changes": {"B": packed},
		},
		"ConditionExpression":      condition,
		"ExpressionAttributeNames": map[string]string{"#b": "batch"},
	}
	if number > 1 {
		document["ExpressionAttributeValues"] = attributeMap{":b": numberValue(number - 1)}
	}
	return json.Marshal(document)
}

// changeDocument is the PutItem of an object's ledger item.
func (l *ledger) changeDocument(number int64, change s3event.Change) ([]byte, error) {
	state, err := json.Marshal(change.Object)
	if err != nil {
		return nil, err
	}
	item := attributeMap{
		"id": stringValue(change.ID), "batch": numberValue(number), "delta": numberValue(change.Delta),
		"live": boolValue(change.Object.Live()), "object": stringValue(string(state)),
	}
	if change.RawKey {
		item["undecoded"] = boolValue(true)
	}
	return json.Marshal(map[string]any{
		"TableName": l.table, "Item": item, "ConditionExpression": notLater,
		"ExpressionAttributeNames":  map[string]string{"#b": "batch"},
		"ExpressionAttributeValues": attributeMap{":b": numberValue(number)},
	})
}

// totalDocument is the UpdateItem of a counter. It leaves other attributes alone.
func (l *ledger) totalDocument(number int64, total s3event.Total) ([]byte, error) {
	return json.Marshal(map[string]any{
		"TableName":                l.table,
		"Key":                      attributeMap{"id": stringValue(total.ID)},
		"UpdateExpression":         "SET num_records = :n, last_change = :t, #b = :b",
		"ConditionExpression":      notLater,
		"ExpressionAttributeNames": map[string]string{"#b": "batch"},
		"ExpressionAttributeValues": attributeMap{
			":n": numberValue(total.Records), ":b": numberValue(number),
			":t": stringValue(total.LastChange.UTC().Format(time.RFC3339Nano)),
		},
	})
}

func (l *ledger) readIntent(ctx context.Context) (intent, error) {
	document, err := json.Marshal(map[string]any{
		"TableName": l.table, "Key": attributeMap{"id": stringValue(intentID)}, "ConsistentRead": true,
	})
	if err != nil {
		return intent{}, err
	}
	raw, err := l.db.Call(ctx, "GetItem", document, dynamodb.DefaultPriority)
	if err != nil {
		return intent{}, err
	}
	var answer struct {
		Item *struct {
			Batch   struct{ N string }
			Owner   struct{ S string }
			Changes struct{ B []byte }
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Item == nil {
		return intent{}, err
	}
	in := intent{owner: answer.Item.Owner.S}
	in.number, err = strconv.ParseInt(answer.Item.Batch.N, 10, 64)
	if err != nil {
		return intent{}, fmt.Errorf("item %s of table %s is not ours: %w", intentID, l.table, err)
	}
	return in, unpack(answer.Item.Changes.B, &in.batch)
}

// read reads the ledger items and counters that events touch.
func (l *ledger) read(ctx context.Context, events []s3event.Event) (map[string]s3event.Object, map[string]int64, error) {
	ids := append(s3event.Objects(events), l.counting.Counters(events)...)
	objects, totals := map[string]s3event.Object{}, map[string]int64{}
	chunks := (len(ids) + keysAtOnce - 1) / keysAtOnce
	answers := make([][]ledgerItem, chunks)
	err := l.parallel(chunks, func(i int) (err error) {
		answers[i], err = l.readItems(ctx, ids[i*keysAtOnce:min((i+1)*keysAtOnce, len(ids))])
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for _, items := range answers {
		for _, item := range items {
			if err := item.into(objects, totals); err != nil {
				return nil, nil, fmt.Errorf("item %q of table %s: %w", item.ID.S, l.table, err)
			}
		}
	}
	return objects, totals, nil
}

// ledgerItem is an object's item or a counter.
type ledgerItem struct {
	ID         struct{ S string } `json:"id"`
	Object     struct{ S string } `json:"object"`
	NumRecords struct{ N string } `json:"num_records"`
}

func (item ledgerItem) into(objects map[string]s3event.Object, totals map[string]int64) error {
	if item.Object.S != "" {
		var object s3event.Object
		if err := json.Unmarshal([]byte(item.Object.S), &object); err != nil {
			return err
		}
		objects[item.ID.S] = object
		return nil
	}
	if item.NumRecords.N == "" {
		return nil
	}
	n, err := dynamodb.WholeNumber(item.NumRecords.N)
	totals[item.ID.S] = n
	return err
}

func (l *ledger) readItems(ctx context.Context, ids []string) ([]ledgerItem, error) {
	keys := make([]attributeMap, len(ids))
	for i, id := range ids {
		keys[i] = attributeMap{"id": stringValue(id)}
	}
	document, err := json.Marshal(map[string]any{"RequestItems": map[string]any{l.table: map[string]any{
		"Keys": keys, "ConsistentRead": true,
		"ProjectionExpression":     "id, #o, num_records",
		"ExpressionAttributeNames": map[string]string{"#o": "object"},
	}}})
	if err != nil {
		return nil, err
	}
	raw, err := l.db.Call(ctx, "BatchGetItem", document, dynamodb.DefaultPriority)
	if err != nil {
		return nil, err
	}
	var answer struct{ Responses map[string][]ledgerItem }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("BatchGetItem answered no JSON: %w", err)
	}
	return answer.Responses[l.table], nil
}

func pack(batch s3event.Batch) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := json.NewEncoder(w).Encode(batch); err != nil {
		return nil, err
	}
	err := w.Close()
	return packed.Bytes(), err
}

func unpack(packed []byte, batch *s3event.Batch) error {
	if len(packed) == 0 {
		return nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, batch)
}
