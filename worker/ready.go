package main

import (
	"encoding/json"
	"net/http"
	"slices"
)

// check is one of what a worker has to have to be ready.
type check struct {
	Name      string `json:"name"` // running, temporal, polls
	TaskQueue string `json:"taskQueue,omitempty"`
	Kind      string `json:"kind,omitempty"` // workflow, activity
	OK        bool   `json:"ok"`
	Error     string `json:"error,omitempty"`
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready bool `json:"ready"`
	// Current is whether the worker's version gets new work; not told without a
	// deployment, and while it is not known.
	Current *bool   `json:"current,omitempty"`
	Checks  []check `json:"checks"`
}

// answerReady answers by what is seen now: Temporal is asked, and the polls are looked at.
func (h *health) answerReady(w http.ResponseWriter, r *http.Request) {
	answer := readiness{Checks: []check{{Name: "running", OK: true}}}
	if reach := h.reach.Load(); !h.running.Load() || reach == nil {
		answer.Checks = []check{{Name: "running", Error: "starting or stopping"}}
	} else {
		answer.Checks = append(append(answer.Checks, reach.check(r.Context())), h.polls.check()...)
		answer.Current = reach.isCurrentNow()
	}
	answer.Ready = !slices.ContainsFunc(answer.Checks, func(c check) bool { return !c.OK })
	w.Header().Set("Content-Type", "application/json")
	if !answer.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(answer) // whoever asked has gone
}
