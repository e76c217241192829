package dynamodb

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/activities"
	"sluice/internal/backoff"
	"sluice/internal/throughput"
)

const (
	mostReads  = 100 // keys of one BatchGetItem request
	mostWrites = 25  // requests of one BatchWriteItem request
	// fruitless is how many requests in a row may bring nothing before the attempt
	// ends and Temporal waits.
	fruitless = 6
	// carried is how much of what was read travels in a heartbeat, in bytes.
	carried = 256 << 10
)

// betweenRounds is the wait after a request that left something unprocessed.
var betweenRounds = backoff.Policy{Base: 50 * time.Millisecond, Cap: time.Second} //nolint:gochecknoglobals // a constant

// batchDone is what a batch has achieved, carried from attempt to attempt.
type batchDone struct {
	// Written is the number of write requests, in the batch's order, behind which
	// the rest begins: those before are applied.
	Written int `json:"written,omitempty"`
	// Items are those read so far, by table and key, null where there is none,
	// while they are few enough to travel in a heartbeat.
	Items map[string]map[string]json.RawMessage `json:"items,omitempty"`
}

// rounds counts requests of a batch, one after the other, that left something
// unprocessed, and those among them that brought nothing.
type rounds struct{ partial, empty int }

// next waits after a request that left something, longer each time, so that what
// the service has room for is asked for at once and not piece by piece; it reports
// false when the attempt should end.
func (r *rounds) next(ctx context.Context, progress, left bool) bool {
	if !left {
		*r = rounds{}
		return true
	}
	r.partial++
	r.empty++
	if progress {
		r.empty = 0
	}
	wait(ctx, betweenRounds.Delay(r.partial, rand.Float64()))
	return r.empty < fruitless
}

// unprocessed is the failure of a batch that the service does not get on with.
func unprocessed(r throughput.Request) *failure {
	return &failure{request: r, errType: activities.TypeThrottled, refusal: &refusal{
		code: "Unprocessed", message: "the service leaves requests of the batch unprocessed",
	}}
}

// bill adds up what the requests of a batch consumed.
type bill map[string]map[string]throughput.Milli // by table and index

func (b bill) add(charges []throughput.Charge) {
	for _, c := range charges {
		if b[c.Table] == nil {
			b[c.Table] = map[string]throughput.Milli{}
		}
		b[c.Table][c.Index] += c.Units
	}
}

// consumedCapacity is the bill in the service's own form.
func (b bill) consumedCapacity() json.RawMessage {
	type units struct{ CapacityUnits throughput.Milli }
	type entry struct {
		TableName              string
		CapacityUnits          throughput.Milli
		Table                  units
		GlobalSecondaryIndexes map[string]units `json:",omitempty"`
	}
	entries := []entry{}
	for _, table := range slices.Sorted(maps.Keys(b)) {
		e := entry{TableName: table, GlobalSecondaryIndexes: map[string]units{}}
		for index, u := range b[table] {
			e.CapacityUnits += u
			if index == "" {
				e.Table.CapacityUnits = u
			} else {
				e.GlobalSecondaryIndexes[index] = units{u}
			}
		}
		entries = append(entries, e)
	}
	return encode(entries, json.RawMessage("[]"))
}

// part sends one request of a batch and bills it.
func (d *Activities) part(ctx context.Context, a *attempt, document json.RawMessage, b bill) (json.RawMessage, throughput.Request, error) {
	r, err := throughput.ParseRequest(a.operation, document)
	if err != nil {
		return nil, r, invalid(r, err)
	}
	answer, err := d.call(ctx, a, r, document)
	if err != nil {
		return nil, r, err
	}
	charges, _ := throughput.Charges(answer, r.Target())
	b.add(charges)
	return answer, r, nil
}

// object is a JSON object whose values are left as they are.
type object map[string]json.RawMessage

func objectIn(raw json.RawMessage) (o object, err error) {
	err = json.Unmarshal(raw, &o)
	return o, err
}

// with is a copy of the object with one field set.
func (o object) with(field string, value any) (json.RawMessage, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	changed := maps.Clone(o)
	if changed == nil {
		changed = object{}
	}
	changed[field] = raw
	return json.Marshal(changed)
}
