package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

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

// decodeRun decodes the input of a run. continued, a pointer to a struct, is what
// the workflow writes itself when it continues as new; fresh, a part of it, is
// what others may write. So nobody else can put in, or is told of, what a run
// carries.
func decodeRun(ctx workflow.Context, what string, raw json.RawMessage, fresh, continued any) error {
	if goesOn(ctx) {
		return decode(what, raw, continued)
	}
	return decode(what, raw, fresh)
}

// goesOn reports that another run came before: the one that continued as new, or,
// where whoever started the workflow gave it a retry policy or a cron schedule,
// one that carried nothing.
func goesOn(ctx workflow.Context) bool { return workflow.GetInfo(ctx).ContinuedExecutionRunID != "" }
