package main

import (
	"sluice/activities"
	"sluice/internal/connect"
)

// newClaiming makes the activities that claim tasks from Azure queues, speak to
// the task service, and send to queues.
func newClaiming(c config, made *clients) ([]activities.System, error) {
	converter, err := connect.DataConverter(c.Config)
	if err != nil {
		return nil, err
	}
	tasks := &activities.TaskService{HTTP: activities.NewServiceHTTP(), Origin: c.TaskServiceURL, Token: c.TaskServiceToken}
	return []activities.System{
		&activities.AzureQueue{Service: made.azure},
		&activities.Claimer{Temporal: made.temporal, Queues: made.azure, Service: tasks, Converter: converter},
		&activities.Tasks{Temporal: made.temporal, Service: tasks},
	}, nil
}
