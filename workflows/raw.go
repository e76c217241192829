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
func decode(what string, raw json.RawMessage, v any) error { return decodeFor(what, "", raw, v) }

// decodeFor is decode of a message to what target names.
func decodeFor(what, target string, raw json.RawMessage, v any) error {
	if err := read(raw, v).Err(); err != nil {
		return activities.Fail(activities.TypeInvalidInput, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: what, Target: target},
			Message:      err.Error(),
		})
	}
	return nil
}

// read is decode with the faults themselves.
func read(raw json.RawMessage, v any) document.Faults {
	faults := document.Decode(raw, v)
	if c, ok := v.(checker); ok && readable(faults) {
		c.Check(&faults)
	}
	return faults
}

// readable says that there are values to check: nothing was read of what is no
// object.
func readable(faults document.Faults) bool { return !faults.Paths()[""] }

// decodeRun decodes the input of a run. continued, a pointer to a struct, is what
// the workflow writes itself when it continues as new; fresh, a part of it, is
// what others may write. So nobody else can put in, or is told of, what a run
// carries.
func decodeRun(ctx workflow.Context, what string, raw json.RawMessage, fresh, continued any) error {
	if goesOn(ctx) {
		return decode(what, raw, continued)
	}
	return decodeStart(ctx, what, raw, fresh)
}

// goesOn reports that another run came before: the one that continued as new, or,
// where whoever started the workflow gave it a retry policy or a cron schedule,
// one that carried nothing.
func goesOn(ctx workflow.Context) bool { return workflow.GetInfo(ctx).ContinuedExecutionRunID != "" }

// addedChecker is a document with checks that came when runs without them were
// already under way.
type addedChecker interface {
	checker
	CheckAdded(faults *document.Faults)
}

// changeAddedChecks marks, in the history of a run that is refused for an added
// check alone, that its code had that check.
const changeAddedChecks = "added-checks"

// decodeStart is decode for the input of a workflow, with its added checks. A run
// that began before they were added goes on as it did, and so does one that goes
// on from it; no other run has an event more for it.
func decodeStart(ctx workflow.Context, what string, raw json.RawMessage, v any) error {
	added, ok := v.(addedChecker)
	if !ok {
		return decode(what, raw, v)
	}
	faults := read(raw, v)
	known := len(faults)
	if readable(faults) {
		added.CheckAdded(&faults)
	}
	if known == 0 && len(faults) > 0 && workflow.GetVersion(ctx, changeAddedChecks, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return nil
	}
	if err := faults.Err(); err != nil {
		return activities.Invalid(what, err)
	}
	return nil
}
