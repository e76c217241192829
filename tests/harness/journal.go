package harness

import (
	"net/http"
	"testing"
)

// An Accepted is one thing that an emulator took, whether or not the caller was told.
type Accepted struct {
	Service      string `json:"service"`
	Operation    string `json:"operation"`
	Target       string `json:"target"`
	Key          string `json:"key"` // a record's data, an item's `id`, an object's address
	PartitionKey string `json:"partitionKey"`
}

// BeginJournal has the guard write down what the emulators accept from now on.
func (g *Guard) BeginJournal(t testing.TB) {
	t.Helper()
	g.call(t, http.MethodPost, "/journal", nil, nil)
}

// Journal answers what they accepted, in order.
func (g *Guard) Journal(t testing.TB) (accepted []Accepted) {
	t.Helper()
	g.call(t, http.MethodGet, "/journal", nil, &accepted)
	return accepted
}
