package shell

import (
	"encoding/json"

	"go.temporal.io/sdk/temporal"

	"sluice/internal/document"
	"sluice/internal/limits"
	"sluice/internal/wire"
)

// requestRunning is the state in which a request begins.
const requestRunning = "RUNNING"

// RequestAttributes are what a request of this document shows from its start. Who
// starts it gives them along, so that it need not upsert them in its first workflow
// task. Of a document that the request refuses only what Temporal takes is shown.
func RequestAttributes(raw json.RawMessage) temporal.SearchAttributes {
	var doc struct {
		Type string `json:"type"`
	}
	kind := wire.TypeRequest
	var faults document.Faults
	if json.Unmarshal(raw, &doc) == nil && doc.Type != "" {
		if limits.CheckAttribute(&faults, "type", doc.Type); faults.Err() == nil {
			kind = doc.Type
		}
	}
	return temporal.NewSearchAttributes(AttributeState.ValueSet(requestRunning), AttributeType.ValueSet(kind))
}
