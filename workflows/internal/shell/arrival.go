package shell

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// Interceptor makes the order in which signals arrive visible to the inbox of a
// workflow, and whether a workflow task has updates. The SDK keeps a channel a signal name and so forgets which of two
// names came first in one workflow task; a pause and an unpause, or a suspend and
// a resume, decide by that order. Workers and replayers both have to have it.
func Interceptor() interceptor.WorkerInterceptor { return &arrivalInterceptor{} }

type arrivalInterceptor struct {
	interceptor.WorkerInterceptorBase
}

func (*arrivalInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &arrivalInbound{arrivals: &arrivals{}}
	i.Next = next
	return i
}

type arrivalInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	arrivals *arrivals
}

func (i *arrivalInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	return i.Next.ExecuteWorkflow(workflow.WithValue(ctx, arrivalsKey{}, i.arrivals), in)
}

func (i *arrivalInbound) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	i.arrivals.updatedIn = taskOf(ctx)
	return i.Next.ExecuteUpdate(ctx, in)
}

func (i *arrivalInbound) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	if in.SignalName != wire.SignalTrouble { // it is in no order to the others
		i.arrivals.names = append(i.arrivals.names, in.SignalName)
	}
	return i.Next.HandleSignal(ctx, in)
}

// arrivals are what has come for a workflow.
type arrivals struct {
	names     []string              // of the signals not taken yet, in the order in which they came
	updatedIn int                   // the last workflow task in which an update was accepted; 0: none
	troubles  []wire.TroubleMessage // of activities that go on trying, the first first
}

type arrivalsKey struct{}

// arrivalsOf returns the list that the interceptor fills for the workflow. A
// worker without it leaves the list empty.
func arrivalsOf(ctx workflow.Context) *arrivals {
	if a, ok := ctx.Value(arrivalsKey{}).(*arrivals); ok {
		return a
	}
	return &arrivals{}
}

// next takes the name that came first.
func (a *arrivals) next() (name string, ok bool) {
	if len(a.names) == 0 {
		return "", false
	}
	name = a.names[0]
	a.names = a.names[1:]
	return name, true
}
