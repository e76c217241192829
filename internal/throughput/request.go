package throughput

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sluice/internal/document"
)

// A Request is what the throttle has to know about a call before it is sent.
type Request struct {
	Operation
	Tables     []string // names, sorted; empty for ListTables
	Index      string   // of Query and Scan
	Repeatable bool     // sending it twice has the effect of sending it once
	Token      string   // ClientRequestToken: a transaction may be repeated under it
	Capacity   string   // ReturnConsumedCapacity as the caller wrote it

	sizes map[string]Milli  // by table: what the request's own size says it costs
	one   oneItem           // what a single call says of its item
	arns  map[string]string // by table, where the call names it so
	shape string            // what calls like this one have in common
}

// Target is what errors and logs name: the tables, else nothing.
func (r Request) Target() string {
	target := ""
	for i, table := range r.Tables {
		if i > 0 {
			target += ","
		}
		target += table
	}
	return target
}

// fields are those of all operations that matter here. Names and values that
// are wrong are left to the service, which knows best what to say about them.
type fields struct {
	TableName              string
	IndexName              string
	ConsistentRead         bool
	Limit                  int64
	Item                   json.RawMessage
	ConditionExpression    *string
	Expected               json.RawMessage
	ReturnValues           string
	ReturnConsumedCapacity string
	ClientRequestToken     string
	RequestItems           map[string]json.RawMessage
	TransactItems          []map[string]transactItem
	ExpressionValues       json.RawMessage `json:"ExpressionAttributeValues"`
	Key                    json.RawMessage
	KeyConditionExpression string
	ExpressionNames        json.RawMessage `json:"ExpressionAttributeNames"`
}

type transactItem struct {
	TableName string
	Item      json.RawMessage
}

// ParseRequest reads the document of a call. With an error the request still names
// the operation.
func ParseRequest(operation string, raw []byte) (Request, error) {
	op, ok := OperationNamed(operation)
	if !ok {
		return Request{Operation: Operation{Name: operation}}, fmt.Errorf("no operation %q", operation)
	}
	var f fields
	if err := unmarshalLoosely(raw, &f); err != nil {
		return Request{Operation: op}, err
	}
	r := Request{
		Operation: op,
		Index:     f.IndexName,
		Capacity:  f.ReturnConsumedCapacity,
		sizes:     map[string]Milli{},
	}
	r.Repeatable = repeatable(op, f)
	if op.Transact && op.Direction == Write {
		r.Token = f.ClientRequestToken // elsewhere the service doesn't look at it
	}
	switch {
	case op.Control:
		if f.TableName != "" {
			r.Tables = []string{r.table(f.TableName)}
		}
		r.shape = op.Name
		return r, nil
	case op.Name == "BatchGetItem":
		for table, keys := range f.RequestItems {
			r.sizes[r.table(table)] += batchReads(keys)
		}
	case op.Name == "BatchWriteItem":
		for table, writes := range f.RequestItems {
			r.sizes[r.table(table)] += batchWrites(writes)
		}
	case op.Transact:
		for _, item := range f.TransactItems {
			for _, action := range item {
				r.sizes[r.table(action.TableName)] += 2 * writeUnits(action.Item)
			}
		}
	case f.TableName == "":
		return r, errors.New("TableName: required")
	default:
		r.sizes[r.table(f.TableName)] = single(op, f)
		r.one = oneItem{key: f.Key, item: f.Item, condition: f.KeyConditionExpression, names: f.ExpressionNames, values: f.ExpressionValues}
	}
	delete(r.sizes, "")
	if len(r.sizes) == 0 {
		return r, errors.New("names no table")
	}
	r.Tables = slices.Sorted(maps.Keys(r.sizes))
	r.shape = fmt.Sprint(op.Name, " ", f.IndexName, " ", f.ConsistentRead, " ", f.Limit)
	return r, nil
}

// table is the name of a table that a call may name by its ARN.
func (r *Request) table(nameOrARN string) string {
	name := TableName(nameOrARN)
	if name != nameOrARN {
		if r.arns == nil {
			r.arns = map[string]string{}
		}
		r.arns[name] = nameOrARN
	}
	return name
}

// ARN is what the call names a table by, "" where that is its name: a table of
// another account is known by its ARN alone.
func (r Request) ARN(table string) string { return r.arns[table] }

// unmarshalLoosely reads what it can: a field of another type than expected is
// for the service to refuse.
func unmarshalLoosely(raw []byte, f *fields) error {
	switch string(bytes.TrimSpace(raw)) {
	case "":
		return errors.New("nothing where an object is expected")
	case "null":
		return errors.New("null where an object is expected")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return document.Decode(raw, &object).Err() // tells what it is
	}
	if json.Unmarshal(raw, f) == nil {
		return nil
	}
	for name, value := range object {
		one, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err == nil {
			_ = json.Unmarshal(one, f) // the service tells
		}
	}
	return nil
}

// repeatable calls change nothing by being sent again: reads; puts and deletes without condition and
// without ReturnValues; batch writes. A transaction is repeatable by its token,
// which is the caller's to add.
func repeatable(op Operation, f fields) bool {
	if op.Direction == Read {
		return true
	}
	switch op.Name {
	case "PutItem", "DeleteItem":
		return f.ConditionExpression == nil && absent(f.Expected) && (f.ReturnValues == "" || f.ReturnValues == "NONE")
	case "BatchWriteItem":
		return true
	default:
		return false
	}
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// single is what the size of a one-item call says it costs; reads are not known
// by their request, but a page of a scan may be a whole mebibyte.
func single(op Operation, f fields) Milli {
	half := Unit / 2
	if f.ConsistentRead {
		half = Unit
	}
	switch op.Name {
	case "GetItem":
		return half
	case "Query", "Scan":
		if f.Limit > 0 {
			return half * Milli(min(f.Limit, pageUnits))
		}
		if op.Name == "Scan" {
			return pageUnits * half
		}
		return half
	case "UpdateItem":
		return writeUnits(f.ExpressionValues)
	default:
		return writeUnits(f.Item)
	}
}

// pageUnits are the 4-KiB blocks of a page, which ends at 1 MiB.
const pageUnits = 256

func batchReads(raw json.RawMessage) Milli {
	var keys struct {
		Keys           []json.RawMessage
		ConsistentRead bool
	}
	_ = json.Unmarshal(raw, &keys) // the service tells
	each := Unit / 2
	if keys.ConsistentRead {
		each = Unit
	}
	return each * max(Milli(len(keys.Keys)), 1)
}

func batchWrites(raw json.RawMessage) (units Milli) {
	var writes []map[string]struct{ Item json.RawMessage }
	_ = json.Unmarshal(raw, &writes) // the service tells
	for _, write := range writes {
		units += writeUnits(write["PutRequest"].Item)
	}
	return max(units, Unit)
}

// writeUnits is what writing an item of this size costs: a unit for each KiB
// begun, at least one.
func writeUnits(item json.RawMessage) Milli {
	return max(1, (ItemSize(item)+1023)/1024) * Unit
}
