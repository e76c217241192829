package harness

import (
	"context"
	"errors"
	"maps"
	"strings"
)

// InNamespace is a view of the same stack in a namespace of its own, which it makes
// and sets up: what the server counts by namespace is then that of this view alone.
func (s *Stack) InNamespace(name string) *Stack {
	s.t.Helper()
	view := *s
	view.env = maps.Clone(s.env)
	view.env["TEMPORAL_NAMESPACE"] = name
	s.Temporal("operator", "namespace", "create", "--namespace", name).OK(s.t)
	// The server learns of a new namespace within seconds.
	Await(s.t, "namespace "+name+" is set up", func(context.Context) error {
		if r := view.Starter("setup"); r.Code != 0 {
			return errors.New(strings.TrimSpace(r.Stderr))
		}
		return nil
	})
	clients, err := connect(view.env)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(clients.Client.Close)
	view.Clients = clients
	return &view
}
