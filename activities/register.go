package activities

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
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

// Register adds the activities of the systems to w. Both the worker and the
// tests call it, so an activity has one name everywhere.
func Register(w worker.ActivityRegistry, systems ...System) {
	for _, s := range systems {
		for _, a := range s.All() {
			w.RegisterActivityWithOptions(a.Code, activity.RegisterOptions{Name: a.Name})
		}
	}
}
