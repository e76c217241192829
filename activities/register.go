package activities

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// A System is the activities of one system on the outside: a struct of this
// package with its clients.
type System interface {
	activities() []named
}

// named is an activity under the name by which workflows and jobs call it.
type named struct {
	name string
	code any
}

// Register adds the activities of the systems to w. Both the worker and the
// tests call it, so an activity has one name everywhere.
func Register(w worker.ActivityRegistry, systems ...System) {
	for _, s := range systems {
		for _, a := range s.activities() {
			w.RegisterActivityWithOptions(a.code, activity.RegisterOptions{Name: a.name})
		}
	}
}
