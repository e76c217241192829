package request

import (
	"encoding/json"
	"errors"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/jobchain"
)

// A workflow task's commands have to fit into one message of 4 MiB. What one
// task dispatches is bounded well below that: one job more may follow the last
// that fitted, and answers to updates go with it. Its expressions take a fraction
// of a second; one input more may follow here, too (jobchain bounds it).
const (
	taskBytes       = 1 << 20
	taskSteps       = 3_000_000
	commandOverhead = 512 // bytes of a command besides its input, generously
)

// taskBudget counts what the present workflow task has done for dispatch.
type taskBudget struct {
	task  int  // history length that tells one workflow task from the next
	bytes int  // of commands
	steps int  // of evaluation
	over  bool // more waits for the next task
}

func (b *taskBudget) spent() bool { return b.bytes > taskBytes || b.steps > taskSteps }

// What a run evaluates again whenever it is replayed, all at once, and how large an
// input it keeps in its history besides that of the job.
const (
	replayedSteps = 3_000_000
	keptInput     = 512 << 10
)

// madeInput is the input of a job, or why it has none.
type madeInput struct {
	Input json.RawMessage `json:"input,omitempty"`
	Steps int             `json:"steps,omitempty"`
	Type  string          `json:"type,omitempty"`
	Error string          `json:"error,omitempty"`
	Again bool            `json:"again,omitempty"` // too large to be kept: made again on replay
}

// input makes job i's input. Once a run has evaluated much, what its expressions
// give is kept in its history: replay would have to do in one task what was spread
// over many.
func (r *request) input(i int) madeInput {
	if !r.chain.Templated(i) {
		return r.makeInput(i)
	}
	made := madeInput{}
	if r.evaluated <= replayedSteps {
		made = r.makeInput(i)
	} else {
		made = r.keptInput(i)
	}
	r.evaluated += made.Steps
	r.task.steps += made.Steps
	return made
}

func (r *request) keptInput(i int) (made madeInput) {
	kept := workflow.SideEffect(r.ctx, func(workflow.Context) any {
		made := r.makeInput(i)
		if len(made.Input) > keptInput {
			return madeInput{Steps: made.Steps, Again: true}
		}
		return made
	})
	if err := kept.Get(&made); err != nil {
		return madeInput{Type: activities.TypeInvalidInput, Error: err.Error()}
	}
	if made.Again {
		return r.makeInput(i)
	}
	r.task.bytes += len(made.Input) + commandOverhead
	return made
}

func (r *request) makeInput(i int) madeInput {
	input, steps, err := r.chain.Input(i)
	made := madeInput{Input: input, Steps: steps}
	var oversize *jobchain.OversizeError
	switch {
	case errors.As(err, &oversize):
		made.Type, made.Error = activities.TypeTooLarge, err.Error()
	case err != nil:
		made.Type, made.Error = activities.TypeInvalidInput, err.Error()
	}
	return made
}
