package activities

import (
	"context"
	"encoding/json"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"sluice/internal/wire"
)

// A System is the activities of one system on the outside: a struct of this
// package with its clients.
type System interface {
	All() []Named
}

// Named is an activity under the name by which workflows and jobs call it.
type Named struct {
	Name string
	Code any
}

// code is how an activity may be written: it may answer by pointer, and read its
// document strictly itself.
type code[In, Out any] interface {
	~func(context.Context, In) (Out, error) | ~func(context.Context, In) (*Out, error) | ~func(context.Context, json.RawMessage) (Out, error)
}

// On is the activity that workflows call by this reference.
func On[In, Out any, Code code[In, Out]](activity wire.Activity[In, Out], code Code) Named {
	return Named{activity.Name, code}
}

// Do is On for an activity without an output.
func Do[In any](activity wire.Activity[In, wire.None], code func(context.Context, In) error) Named {
	return Named{activity.Name, code}
}

// Register adds the activities of the systems to w. Both the worker and the
// tests call it, so an activity has one name everywhere.
func Register(w worker.ActivityRegistry, systems ...System) {
	for _, s := range systems {
		for _, a := range s.All() {
			w.RegisterActivityWithOptions(a.Code, activity.RegisterOptions{Name: a.Name})
		}
	}
}
