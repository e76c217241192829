// Package equivalent has the temporal commands that do what the starter does.
package equivalent

import "encoding/json"

// Start is the start of a workflow.
type Start struct {
	Type, ID, TaskQueue, Summary string
	Input                        json.RawMessage
}

// Command starts it.
func (s Start) Command() []string {
	command := []string{"temporal", "workflow", "start", "--type", s.Type, "--task-queue", s.TaskQueue, "--workflow-id", s.ID}
	if s.Summary != "" {
		command = append(command, "--static-summary", s.Summary)
	}
	return WithInput(command, s.Input)
}

// Update sends an update and waits for its answer.
func Update(workflowID, name string, input json.RawMessage) []string {
	return WithInput([]string{"temporal", "workflow", "update", "execute", "--workflow-id", workflowID, "--name", name}, input)
}

// Signal sends a signal.
func Signal(workflowID, name string, input json.RawMessage) []string {
	return WithInput([]string{"temporal", "workflow", "signal", "--workflow-id", workflowID, "--name", name}, input)
}

// Query asks a workflow; each of args is an input.
func Query(workflowID, name string, args []any) []string {
	command := []string{"temporal", "workflow", "query", "--workflow-id", workflowID, "--type", name}
	for _, arg := range args {
		if raw, err := json.Marshal(arg); err == nil {
			command = WithInput(command, raw)
		}
	}
	return command
}

// WithInput adds an input, where there is one.
func WithInput(command []string, input json.RawMessage) []string {
	if len(input) == 0 {
		return command
	}
	return append(command, "--input", string(input))
}
