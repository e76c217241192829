package task

import (
	"sluice/internal/document"
	"sluice/internal/limits"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// input is what a Task is started with, by its claimer.
type input struct{ wire.TaskInput }

// Check adds what is out of range.
func (in *input) Check(faults *document.Faults) {
	if !faults.Has("taskId") && !taskmessage.ValidID(in.TaskID) {
		faults.Add("taskId", "%q does not match [A-Za-z0-9_-]{1,64}", in.TaskID)
	}
	if in.RunID < 0 {
		faults.Add("runId", "%d is negative", in.RunID)
	}
	if in.Run.Workflow == "" {
		in.Run.Workflow = wire.TypeRequest
	}
	limits.CheckName(faults, "run.workflow", in.Run.Workflow)
	limits.CheckTaskQueue(faults, "run.taskQueue", in.Run.TaskQueue)
	limits.CheckFairnessKey(faults, "fairnessKey", in.FairnessKey)
}

// CheckID adds what does not fit the ID of the work.
func (in *input) CheckID(faults *document.Faults, id string) {
	limits.CheckID(faults, "workflow ID", id, wire.TaskRunID(""))
}

// CarriedAtFirst is what a run carries, in bytes, besides names and reasons, which
// are short: the payload is the work's, and stays with the first run.
func (in *input) CarriedAtFirst() int { return 0 }
