package main

import (
	"sluice/activities"
	"sluice/activities/azurequeue"
	"sluice/activities/claiming"
	"sluice/activities/taskservice"
)

// newClaiming makes the activities that claim tasks from Azure queues, speak to
// the task service, and send to queues.
func newClaiming(c config, made *clients) []activities.System {
	tasks := &taskservice.Client{HTTP: taskservice.NewHTTP(), Origin: c.TaskServiceURL, Token: c.TaskServiceToken}
	return []activities.System{
		&azurequeue.Activities{Service: made.azure},
		&claiming.Claimer{Temporal: made.temporal, Queues: made.azure, Service: tasks, Converter: made.converter, Calm: activities.Calm{After: c.CalmAfter, Spacing: c.WaitHeartbeat / 2}},
		&claiming.Tasks{Temporal: made.temporal, Service: tasks},
	}
}
