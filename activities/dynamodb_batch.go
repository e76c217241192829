package activities

import "encoding/json"

// batchDone is what a batch has achieved, carried from attempt to attempt.
type batchDone struct {
	// Written is the number of write requests, in the batch's own order, that are
	// all applied.
	Written int `json:"written,omitempty"`
	// Items are those read so far, by table and key, while they are few enough to
	// travel in a heartbeat.
	Items map[string]map[string]json.RawMessage `json:"items,omitempty"`
}
