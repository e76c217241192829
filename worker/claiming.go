package main

import "sluice/activities"

// newClaiming makes the activities that claim tasks from Azure queues, speak to
// the task service, and send to queues.
func newClaiming(c config, made *clients) []activities.System {
	tasks := &activities.TaskService{HTTP: activities.NewServiceHTTP(), Origin: c.TaskServiceURL, Token: c.TaskServiceToken}
	return []activities.System{
		&activities.AzureQueue{Service: made.azure},
		&activities.Claimer{Temporal: made.temporal, Queues: made.azure, Service: tasks, Converter: made.converter},
		&activities.Tasks{Temporal: made.temporal, Service: tasks},
	}
}
