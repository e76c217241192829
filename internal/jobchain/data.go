package jobchain

import "encoding/json"

// Data is what expressions see: the request's args, the outputs of its complete
// jobs, and the request itself. Numbers stay as they are written.
type Data struct {
	root        map[string]any
	jobs        map[string]any // those of root
	expressions expressions
}

// NewData makes the data of a request; Set adds outputs.
func NewData(args json.RawMessage, request map[string]any) *Data {
	jobs := map[string]any{}
	return &Data{jobs: jobs, root: map[string]any{"args": decoded(args), "jobs": jobs, "request": request}}
}

// Set adds the output of a complete job.
func (d *Data) Set(id string, output json.RawMessage) { d.jobs[id] = decoded(output) }

// Unset takes an output away again: its sequence starts anew.
func (d *Data) Unset(id string) { delete(d.jobs, id) }

func decoded(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	tree, err := parse(raw)
	if err != nil {
		return nil
	}
	return tree
}
