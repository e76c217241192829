package sluice

import (
	"go.temporal.io/sdk/worker"

	"sluice/activities"
	"sluice/activities/claiming"
	"sluice/activities/taskservice"
	"sluice/internal/wire"
)

// newClaiming makes the activities that claim tasks, speak to the task service, and
// send to Azure queues.
func newClaiming(c Config, made *Clients) (claimer *claiming.Claimer, tasks *claiming.Tasks) {
	service := &taskservice.Client{HTTP: taskservice.NewHTTP(), Origin: c.TaskServiceURL, Token: c.TaskServiceToken}
	claimer = &claiming.Claimer{Temporal: made.Temporal, Queues: made.Azure, Service: service, Converter: made.Converter, Calm: activities.Calm{After: c.CalmAfter, Spacing: c.WaitHeartbeat / 2}}
	return claimer, claiming.NewTasks(made.Temporal, service)
}

// newWithAzure polls the task queue of the activities that need access to Azure
// queues, which their workflows schedule there; nil where this worker has none. They
// are on the worker's own queue as well: signed URLs are polled there, and a job that
// sends to a queue may come there.
func newWithAzure(c Config, made *Clients, needing ...activities.System) worker.Worker {
	if made.Azure == nil {
		return nil
	}
	options := workerOptions(c)
	options.DisableWorkflowWorker = true
	options.Plugins = []worker.Plugin{newPlugin(made.Converter, noWorkflows)}
	w := worker.New(made.Temporal, wire.AzureTaskQueue(c.TaskQueue), options)
	RegisterActivities(w, needing...)
	return w
}
