package quiescence

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"sluice/internal/document"
	"sluice/internal/limits"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// mostThen bounds the entries, which run all at once.
const mostThen = 100

// onLate names, among the reasons of `on`, the end of a later generation.
const onLate = "late"

// Then is something to do when a generation has ended: exactly one of the first
// four is set.
type Then struct {
	HTTP     *ThenHTTP     `json:"http,omitempty"`
	Workflow *ThenWorkflow `json:"workflow,omitempty"`
	Activity *ThenActivity `json:"activity,omitempty"`
	Signal   *ThenSignal   `json:"signal,omitempty"`
	On       []string      `json:"on"`
}

// SetDefaults fills in the reasons of a generation that went well.
func (t *Then) SetDefaults() {
	t.On = []string{quiescence.ReasonQuiet, quiescence.ReasonExpected, quiescence.ReasonForced}
}

// ThenHTTP calls a URL. Input goes into the body's field of that name, as it does
// with ThenSignal.
type ThenHTTP struct {
	URL    string          `json:"url" doc:"required"`
	Method string          `json:"method"`
	Auth   string          `json:"auth"`
	Input  json.RawMessage `json:"input,omitempty"`
}

// SetDefaults fills in the method.
func (t *ThenHTTP) SetDefaults() { t.Method = "POST" }

// ThenWorkflow starts a workflow and does not wait for its end.
type ThenWorkflow struct {
	Type      string          `json:"type" doc:"required"`
	ID        string          `json:"id"`
	Input     json.RawMessage `json:"input,omitempty"`
	TaskQueue string          `json:"taskQueue"`
}

// ThenActivity runs an activity.
type ThenActivity struct {
	Name      string          `json:"name" doc:"required"`
	Input     json.RawMessage `json:"input,omitempty"`
	TaskQueue string          `json:"taskQueue"`
}

// ThenSignal signals a workflow.
type ThenSignal struct {
	WorkflowID string          `json:"workflowId" doc:"required"`
	Name       string          `json:"name" doc:"required"`
	Input      json.RawMessage `json:"input,omitempty"`
}

// ThenResult is how an entry went that ran.
type ThenResult struct {
	N          int    `json:"n"` // which entry, from 0
	Generation int    `json:"generation"`
	Done       bool   `json:"done"`
	OK         bool   `json:"ok"`
	Error      string `json:"error"`
}

func (t *Then) check(faults *document.Faults, path string) {
	set := 0
	for _, is := range []bool{t.HTTP != nil, t.Workflow != nil, t.Activity != nil, t.Signal != nil} {
		if is {
			set++
		}
	}
	// A fault here may be the one that was meant, misspelt.
	if set > 1 || set == 0 && !faults.Has(path) {
		faults.Add(path, "exactly one of http, workflow, activity, signal, not %d of them", set)
	}
	if t.HTTP != nil {
		t.HTTP.check(faults, path+".http")
	}
	t.checkOn(faults, path+".on")
	t.checkNames(faults, path)
}

// checkNames checks what Temporal is to be told.
func (t *Then) checkNames(faults *document.Faults, path string) {
	name := func(path, name string) {
		if name == "" && !faults.Has(path) {
			faults.Add(path, "empty")
		}
		limits.CheckName(faults, path, name)
	}
	if w := t.Workflow; w != nil {
		name(path+".workflow.type", w.Type)
		limits.CheckTaskQueue(faults, path+".workflow.taskQueue", w.TaskQueue)
		if w.ID != "" {
			limits.CheckID(faults, path+".workflow.id", w.ID, wire.GenerationID("", limits.MostNumber))
		}
	}
	if a := t.Activity; a != nil {
		name(path+".activity.name", a.Name)
		limits.CheckTaskQueue(faults, path+".activity.taskQueue", a.TaskQueue)
	}
	if s := t.Signal; s != nil {
		name(path+".signal.workflowId", s.WorkflowID)
		name(path+".signal.name", s.Name)
	}
}

func (t *Then) checkOn(faults *document.Faults, path string) {
	known := []string{quiescence.ReasonQuiet, quiescence.ReasonExpected, quiescence.ReasonForced,
		quiescence.ReasonDeadline, quiescence.ReasonNotStarted, onLate}
	if len(t.On) == 0 {
		faults.Add(path, "empty: it would never run")
	}
	for i, on := range t.On {
		if at := document.Index(path, i); !faults.Has(at) && !slices.Contains(known, on) {
			faults.Add(at, "%q is none of %q", on, known)
		}
	}
}

func (t *ThenHTTP) check(faults *document.Faults, path string) {
	u, err := url.Parse(t.URL)
	switch {
	case faults.Has(path + ".url"):
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		faults.Add(path+".url", "not an http or https URL")
	case u.User != nil:
		faults.Add(path+".url", `holds user info; name credentials with "auth"`)
	}
	if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, t.Method) {
		faults.Add(path+".method", "%q is none of GET, POST, PUT, PATCH, DELETE", t.Method)
	}
	if err := wire.CheckAuth(t.Auth); err != nil && !faults.Has(path+".auth") {
		faults.Add(path+".auth", "%v", err)
	}
}

// runs tells whether the entry is to run at the end of a generation. Entries for
// the first quiet do not run again when a later generation falls quiet: those
// marked late do.
func (t *Then) runs(reason string, late bool) bool {
	settled := reason == quiescence.ReasonQuiet || reason == quiescence.ReasonExpected || reason == quiescence.ReasonForced
	if late && settled {
		reason = onLate
	}
	return slices.Contains(t.On, reason)
}

// thenBody is what http and signal carry, and what a workflow or activity without
// an input of its own gets.
type thenBody struct {
	Reason         string          `json:"reason"`
	Count          int64           `json:"count"`
	Source         json.RawMessage `json:"source"`
	Generation     int             `json:"generation"`
	IdempotencyKey string          `json:"idempotencyKey"`
	Input          json.RawMessage `json:"input"`
}

// idempotencyKey is the same however often an entry is delivered.
func idempotencyKey(workflowID string, generation, n int) string {
	return fmt.Sprintf("%s/%d/%d", workflowID, generation, n)
}
