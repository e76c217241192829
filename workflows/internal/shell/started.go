package shell

import (
	"encoding/json"

	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/jobchain"
	"sluice/internal/limits"
	"sluice/internal/wire"
)

// RequestAttributes are what a request of this document shows from its start. Who
// starts it gives them along, so that it need not upsert them in its first workflow
// task. Of a document that the request refuses only what Temporal takes is shown.
func RequestAttributes(raw json.RawMessage) temporal.SearchAttributes {
	var doc jobchain.Document
	kind := wire.TypeRequest
	var faults document.Faults
	_ = json.Unmarshal(raw, &doc) // of a document that is refused, what can be read
	if doc.Type != "" {
		if limits.CheckAttribute(&faults, "type", doc.Type); faults.Err() == nil {
			kind = doc.Type
		}
	}
	return activities.StartAttributes(string(jobchain.Running), kind, doc.Target())
}
