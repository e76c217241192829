package workflows

import (
	"encoding/json"

	"sluice/activities"
	"sluice/internal/document"
)

// checker is a document that checks what its values mean, after they were read.
type checker interface {
	Check(faults *document.Faults)
}

// decode reads a document strictly into v, a pointer to a struct that holds the
// defaults, and has it check itself when it is a checker. All faults come back
// as one InvalidInput error.
func decode(what string, raw json.RawMessage, v any) error {
	faults := document.Decode(raw, v)
	if c, ok := v.(checker); ok {
		c.Check(&faults)
	}
	if err := faults.Err(); err != nil {
		return activities.Invalid(what, err)
	}
	return nil
}
