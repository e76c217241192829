package workflows

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// Interceptor makes the order in which signals arrive visible to the inbox of a
// workflow. The SDK keeps a channel a signal name and so forgets which of two
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

func (i *arrivalInbound) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	i.arrivals.names = append(i.arrivals.names, in.SignalName)
	return i.Next.HandleSignal(ctx, in)
}

// arrivals are the names of the signals that a workflow has not taken yet, in
// the order in which they came.
type arrivals struct{ names []string }

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
