package shell

import (
	"encoding/json"
	"strings"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/document"
)

// checker is a document that checks what its values mean, after they were read.
type checker interface {
	Check(faults *document.Faults)
}

// Decode reads a document strictly into v, a pointer to a struct that holds the
// defaults, and has it check itself when it is a checker. All faults come back
// as one InvalidInput error of what was asked, and of whom where that is said.
func Decode(what string, raw json.RawMessage, v any, target ...string) error {
	faults := document.Decode(raw, v)
	// Nothing was read of what is no object: there are no values to check.
	if c, ok := v.(checker); ok && !faults.Paths()[""] {
		c.Check(&faults)
	}
	if err := faults.Err(); err != nil {
		return activities.Fail(activities.TypeInvalidInput, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: what, Target: strings.Join(target, "/")},
			Message:      err.Error(),
		})
	}
	return nil
}

// InputOf is into what the input of a run is decoded: continued is what the
// workflow writes itself when it continues as new; fresh, a part of it, is what
// others may write. So nobody else can put in, or is told of, what a run carries.
// (A run that goes on from another may also be one that a retry policy or a cron
// schedule started; it carries nothing.)
func InputOf(ctx workflow.Context, fresh, continued any) any {
	if workflow.GetInfo(ctx).ContinuedExecutionRunID != "" {
		return continued
	}
	return fresh
}
