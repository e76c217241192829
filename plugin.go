package sluice

import (
	"context"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/workflows"
)

// Plugin has a worker run the workflows, or a replayer of histories replay them: it
// registers them when either begins, and adds the interceptors and, in a replayer, the
// headers that they need. It goes among the Plugins of worker.Options or
// worker.WorkflowReplayerOptions. dc is the client's data converter; nil is the SDK's
// own. A worker made by NewWorker has it already.
func Plugin(dc converter.DataConverter) *temporal.SimplePlugin {
	return newPlugin(dc, RegisterWorkflows)
}

// newPlugin is Plugin with some of the workflows, or none.
func newPlugin(dc converter.DataConverter, register func(WorkflowRegistry)) *temporal.SimplePlugin {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	// Only one without a name is refused.
	p, _ := temporal.NewSimplePlugin(temporal.SimplePluginOptions{
		Name:               "sluice",
		Version:            Version(),
		ContextPropagators: []workflow.ContextPropagator{activities.ContextPropagator(dc)},
		WorkerInterceptors: []interceptor.WorkerInterceptor{workflows.Interceptor(), activities.Interceptor(), activities.TroubleInterceptor()},
		RunContextBefore: func(_ context.Context, o temporal.SimplePluginRunContextBeforeOptions) error {
			register(registryOf{o.Registry, o.WorkflowReplayer})
			return nil
		},
	})
	return p
}

// registryOf is the registry that a plugin gets. A replayer that replays several
// histories hands the same one each time.
type registryOf struct {
	WorkflowRegistry
	again bool
}

func (r registryOf) RegisterWorkflowWithOptions(code any, options workflow.RegisterOptions) {
	options.DisableAlreadyRegisteredCheck = r.again
	r.WorkflowRegistry.RegisterWorkflowWithOptions(code, options)
}
