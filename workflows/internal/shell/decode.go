package shell

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/limits"
)

// checker is a document that checks what its values mean, after they were read.
type checker interface {
	Check(faults *document.Faults)
}

// idChecker is the input of a run whose ID others are made of; it checks that they
// fit.
type idChecker interface {
	CheckID(faults *document.Faults, id string)
}

// Decode reads a document strictly into v, a pointer to a struct that holds the
// defaults, and has it check itself when it is a checker. All faults come back
// as one InvalidInput error of what was asked, and of whom where that is said.
func Decode(what string, raw json.RawMessage, v any, target ...string) error {
	faults, _ := read(raw, v)
	return refusal(what, v, faults, target...)
}

// read decodes a document. There are values to check unless it is no object, of
// which nothing was read.
func read(raw json.RawMessage, v any) (faults document.Faults, readable bool) {
	faults = document.Decode(raw, v)
	readable = !faults.Paths()[""]
	if c, ok := v.(checker); ok && readable {
		c.Check(&faults)
	}
	return faults, readable
}

// refused is a document that knows as which error it is refused.
type refused interface{ RefusedAs() string }

func refusal(what string, v any, faults document.Faults, target ...string) error {
	errType := activities.TypeInvalidInput
	if r, ok := v.(refused); ok {
		errType = r.RefusedAs()
	}
	if err := faults.Err(); err != nil {
		return activities.Fail(errType, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: what, Target: strings.Join(target, "/")},
			Message:      err.Error(),
		})
	}
	return nil
}

// sized is an input that knows what it takes of what a run carries; others take
// their own size and what is usual.
type sized interface{ CarriedAtFirst() int }

// usualState is what a run carries besides its input, in bytes.
const usualState = 256 << 10

// DecodeInput decodes the input of a run: continued is what the workflow writes
// itself when it continues as new; fresh, a part of it, is what others may write. So
// nobody else can put in, or is told of, what a run carries. (A run that goes on from
// another may also be one that a retry policy or a cron schedule started; it carries
// nothing.)
func DecodeInput(ctx workflow.Context, what string, raw json.RawMessage, fresh, continued any) error {
	info := workflow.GetInfo(ctx)
	if info.ContinuedExecutionRunID == "" {
		return CheckInput(what, info.WorkflowExecution.ID, raw, fresh)
	}
	return refusal(what, continued, readInput(info.WorkflowExecution.ID, raw, continued))
}

// CheckInput decodes the input of a new run of that ID into v and tells all that is
// wrong with it. Whoever starts a run can ask before.
func CheckInput(what, id string, raw json.RawMessage, v any) error {
	if err := refusal(what, v, readInput(id, raw, v)); err != nil {
		return err
	}
	return checkCarried(what, raw, v)
}

func readInput(id string, raw json.RawMessage, v any) document.Faults {
	faults, readable := read(raw, v)
	if c, ok := v.(idChecker); ok && readable {
		c.CheckID(&faults, id)
	}
	return faults
}

// checkCarried refuses an input that could not be carried from run to run.
func checkCarried(what string, raw json.RawMessage, v any) error {
	bytes := len(raw) + usualState
	if s, ok := v.(sized); ok {
		bytes = s.CarriedAtFirst()
	}
	if bytes <= limits.Carried {
		return nil
	}
	return activities.Fail(activities.TypeTooLarge, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: what},
		Message:      fmt.Sprintf("the document takes %d bytes of what a run carries, more than %d; keep large data elsewhere and hand on where it is", bytes, limits.Carried),
	})
}
