package ingest

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// continued is the input of a run that goes on from another.
type continued struct {
	Input
	Carried *carried `json:"carried,omitempty"`
}

// carried is where a run was that has streamed everything and goes on to watch for
// what is missing.
type carried struct {
	Started    time.Time `json:"started"`
	Deadline   time.Time `json:"deadline,omitzero"`
	Objects    int64     `json:"objects"`
	Tasks      int64     `json:"tasks"`
	Generation int       `json:"generation"`
	LastError  string    `json:"lastError,omitempty"`
}

func (r *run) take(c carried) {
	r.started, r.deadline, r.objects, r.tasks, r.generation = c.Started, c.Deadline, c.Objects, c.Tasks, c.Generation
	r.lastError, r.joined = c.LastError, true
}

// continueAsNew goes on in another run. Only the counter is there by then, which
// knows the ingestion by its first run.
func (r *run) continueAsNew(ctx workflow.Context) error {
	return workflow.NewContinueAsNewError(ctx, wire.TypeIngest, continued{r.in, &carried{
		Started: r.started, Deadline: r.deadline, Objects: r.objects, Tasks: r.tasks, Generation: r.generation, LastError: r.lastError,
	}})
}
