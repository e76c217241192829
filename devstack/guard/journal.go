package guard

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"sync"
)

// An Accepted is one thing that an emulator took: a record, an item's change, an
// object, a message. Whether the caller got the answer makes no difference.
type Accepted struct {
	Service   Service `json:"service"`
	Operation string  `json:"operation"`
	Target    string  `json:"target"`
	// Key is a record's data, an item's `id`, a transaction's token or an object's
	// address.
	Key string `json:"key,omitempty"`
	// PartitionKey of a record.
	PartitionKey string `json:"partitionKey,omitempty"`
}

// journal keeps what was accepted, in order, while it is on.
type journal struct {
	mu      sync.Mutex
	on      bool
	entries []Accepted
}

func (j *journal) set(on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.on, j.entries = on, nil
}

func (j *journal) isOn() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.on
}

func (j *journal) all() []Accepted {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Accepted{}, j.entries...)
}

// note writes down what a call that was carried out has changed.
func (j *journal) note(c *call, a *answer) {
	if !j.isOn() || a.status >= http.StatusMultipleChoices {
		return
	}
	keys := keysOf(c, a)
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, k := range keys {
		k.Service, k.Operation = c.service, c.operation
		if k.Target == "" {
			k.Target = c.target
		}
		j.entries = append(j.entries, k)
	}
}

// keysOf are the things that a call changed.
func keysOf(c *call, a *answer) []Accepted {
	switch c.operation {
	case "PutRecord", "PutRecords":
		return recordsStored(c, a)
	case "PutItem", "UpdateItem", "DeleteItem":
		return []Accepted{{Key: itemID(c.doc)}}
	case "TransactWriteItems":
		return []Accepted{{Key: c.doc.text("ClientRequestToken")}}
	case "BatchWriteItem":
		return itemsWritten(c, a)
	case "PutObject", "DeleteObject":
		return []Accepted{{Key: c.object}}
	case "PutMessage", "DeleteMessage", "SendMessage":
		return []Accepted{{}}
	}
	return nil
}

// recordsStored are the records that the answer does not tell as failed.
func recordsStored(c *call, a *answer) (list []Accepted) {
	text, err := a.whole()
	if err != nil {
		return nil
	}
	var in struct {
		Records []record
		record
	}
	var out stored
	if json.Unmarshal(c.body, &in) != nil || json.Unmarshal(text, &out) != nil {
		return nil
	}
	if c.operation == "PutRecord" {
		in.Records, out.Records = []record{in.record}, []result{{}}
	}
	for i, r := range in.Records {
		if out.at(i).ErrorCode == "" {
			list = append(list, Accepted{Key: r.text(), PartitionKey: r.PartitionKey})
		}
	}
	return list
}

// text is the record's data, as it is where it is no base64.
func (r record) text() string {
	var encoded string
	_ = json.Unmarshal(r.Data, &encoded)
	if data, err := base64.StdEncoding.DecodeString(encoded); err == nil {
		return string(data)
	}
	return encoded
}

// itemID is the string attribute `id` of a document's item or key.
func itemID(d doc) string {
	var id struct {
		ID struct{ S string } `json:"id"`
	}
	for _, name := range []string{"Item", "Key"} {
		if json.Unmarshal(d[name], &id) == nil && id.ID.S != "" {
			return id.ID.S
		}
	}
	return ""
}

// itemsWritten are the items of a batch that the answer does not tell as unprocessed.
func itemsWritten(c *call, a *answer) (list []Accepted) {
	text, err := a.whole()
	if err != nil {
		return nil
	}
	out, _ := parse(text)
	left := map[Accepted]bool{}
	for _, item := range batchItems(out["UnprocessedItems"]) {
		left[item] = true
	}
	for _, item := range batchItems(c.doc["RequestItems"]) {
		if !left[item] {
			list = append(list, item)
		}
	}
	return list
}

func batchItems(raw json.RawMessage) (list []Accepted) {
	var tables map[string][]struct{ PutRequest, DeleteRequest doc }
	_ = json.Unmarshal(raw, &tables)
	for table, requests := range tables {
		for _, r := range requests {
			id := itemID(r.PutRequest)
			if r.DeleteRequest != nil {
				id = itemID(r.DeleteRequest)
			}
			list = append(list, Accepted{Target: nameOf(table, "table"), Key: id})
		}
	}
	return list
}
