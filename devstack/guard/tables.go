package guard

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"sluice/devstack/guard/rules"
)

// A table is what the guard needs to know of one.
type table struct {
	name    string
	key     []string
	types   json.RawMessage // AttributeDefinitions
	schema  json.RawMessage // KeySchema
	indexes []rules.Index
	rates   map[string]TableLimits // by index name, "" the table itself; 0 unlimited
}

// keyOf takes the key out of an item.
func (t *table) keyOf(item rules.Item) rules.Item {
	key := rules.Item{}
	for _, name := range t.key {
		key[name] = item[name]
	}
	return key
}

// described is DescribeTable's answer, as far as it matters here.
type described struct {
	Table struct {
		KeySchema              []keyElement
		ProvisionedThroughput  throughput
		BillingModeSummary     struct{ BillingMode string }
		LocalSecondaryIndexes  []describedIndex
		GlobalSecondaryIndexes []describedIndex
	}
}

type keyElement struct{ AttributeName string }

type throughput struct{ ReadCapacityUnits, WriteCapacityUnits float64 }

type describedIndex struct {
	IndexName             string
	KeySchema             []keyElement
	ProvisionedThroughput throughput
	Projection            struct {
		ProjectionType   string
		NonKeyAttributes []string
	}
}

func (i describedIndex) index(global bool) rules.Index {
	return rules.Index{Name: i.IndexName, Global: global, Key: names(i.KeySchema),
		All: i.Projection.ProjectionType == "ALL", Others: i.Projection.NonKeyAttributes}
}

func names(elements []keyElement) []string {
	list := make([]string, len(elements))
	for i, e := range elements {
		list[i] = e.AttributeName
	}
	return list
}

// tables remembers descriptions. Every change of a table comes through the guard
// and makes it forget; the age limit is for one that overtook a description.
type tables struct {
	to    *upstream
	mu    sync.Mutex
	known map[string]knownTable
}

type knownTable struct {
	table *table
	at    time.Time
}

const tableAge = 5 * time.Second

func newTables(to *upstream) *tables { return &tables{to: to, known: map[string]knownTable{}} }

func (t *tables) forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, name)
}

// get describes a table; nil if there is none, which dynalite will tell.
func (t *tables) get(ctx context.Context, name string) (*table, error) {
	t.mu.Lock()
	known, found := t.known[name]
	t.mu.Unlock()
	if found && time.Since(known.at) < tableAge {
		return known.table, nil
	}
	status, body, err := t.to.ask(ctx, dynamoTarget+"DescribeTable", dynamoContent, encode(map[string]string{"TableName": name}))
	if err != nil || status != http.StatusOK {
		return nil, err
	}
	made, err := describe(name, body)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[name] = knownTable{made, time.Now()}
	return made, nil
}

func describe(name string, body []byte) (*table, error) {
	var d described
	var raw struct{ Table doc }
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, err
	}
	t := &table{name: name, key: names(d.Table.KeySchema), rates: map[string]TableLimits{},
		types: raw.Table["AttributeDefinitions"], schema: raw.Table["KeySchema"]}
	onDemand := d.Table.BillingModeSummary.BillingMode == "PAY_PER_REQUEST"
	rate := func(p throughput) TableLimits {
		if onDemand {
			return TableLimits{}
		}
		return TableLimits{p.ReadCapacityUnits, p.WriteCapacityUnits}
	}
	t.rates[""] = rate(d.Table.ProvisionedThroughput)
	for _, i := range d.Table.LocalSecondaryIndexes {
		t.indexes = append(t.indexes, i.index(false))
	}
	for _, i := range d.Table.GlobalSecondaryIndexes {
		t.indexes = append(t.indexes, i.index(true))
		t.rates[i.IndexName] = rate(i.ProvisionedThroughput)
	}
	return t, nil
}
