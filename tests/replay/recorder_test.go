package replay_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// recorder keeps what a workflow asks for during a replay.
type recorder struct{ commands []command }

func (r *recorder) add(kind string, fields map[string]string) {
	for name, value := range fields {
		if value == "" {
			delete(fields, name)
		}
	}
	r.commands = append(r.commands, command{kind, fields})
}

type recording struct {
	interceptor.WorkerInterceptorBase
	made *recorder
}

func (i *recording) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	in := &recordingInbound{made: i.made}
	in.Next = next
	return in
}

type recordingInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	made *recorder
}

func (i *recordingInbound) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	out := &recordingOutbound{made: i.made}
	out.Next = outbound
	return i.Next.Init(out)
}

func (i *recordingInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := i.Next.ExecuteWorkflow(ctx, in)
	var onwards *workflow.ContinueAsNewError
	var cancelled *temporal.CanceledError
	switch {
	case err == nil:
		i.made.add("completed", map[string]string{"result": payload(result)})
	case errors.As(err, &onwards):
		i.made.add("continued as new", map[string]string{"name": onwards.WorkflowType.Name, "input": payloads(onwards.Input)})
	case errors.As(err, &cancelled):
		i.made.add("canceled", map[string]string{})
	default:
		i.made.add("failed", failure(err))
	}
	return result, err
}

func (i *recordingInbound) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	id := workflow.GetCurrentUpdateInfo(ctx).ID
	result, err := i.Next.ExecuteUpdate(ctx, in)
	fields := map[string]string{}
	if err != nil {
		fields = failure(err)
	} else {
		fields["result"] = payload(result)
	}
	i.made.add("update "+id, fields)
	return result, err
}

// failure is the error of an update or run, as it is recorded.
func failure(err error) map[string]string {
	return failureFields(temporal.GetDefaultFailureConverter().ErrorToFailure(err))
}

type recordingOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	made *recorder
}

func (o *recordingOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if ctx.Err() == nil {
		options := workflow.GetActivityOptions(ctx)
		fields := map[string]string{
			"name": name, "id": options.ActivityID, "queue": options.TaskQueue, "input": payload(args...),
			"scheduleToClose": span(options.ScheduleToCloseTimeout), "scheduleToStart": span(options.ScheduleToStartTimeout),
			"startToClose": span(options.StartToCloseTimeout), "heartbeat": span(options.HeartbeatTimeout), "summary": options.Summary,
		}
		if p := options.RetryPolicy; p != nil {
			fields["attempts"] = fmt.Sprint(p.MaximumAttempts)
			fields["interval"], fields["longest"] = span(p.InitialInterval), span(p.MaximumInterval)
			if p.BackoffCoefficient != 0 {
				fields["coefficient"] = fmt.Sprint(p.BackoffCoefficient)
			}
		}
		if k := options.Priority.PriorityKey; k != 0 {
			fields["priority"] = fmt.Sprint(k)
		}
		o.made.add("activity", fields)
	}
	return o.Next.ExecuteActivity(ctx, name, args...)
}

func (o *recordingOutbound) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	if ctx.Err() == nil {
		options := workflow.GetChildWorkflowOptions(ctx)
		o.made.add("child", map[string]string{
			"name": name, "id": options.WorkflowID, "queue": options.TaskQueue, "input": payload(args...), "close": options.ParentClosePolicy.String(),
			"reuse": options.WorkflowIDReusePolicy.String(), "runTimeout": span(options.WorkflowRunTimeout), "executionTimeout": span(options.WorkflowExecutionTimeout),
		})
	}
	return o.Next.ExecuteChildWorkflow(ctx, name, args...)
}

func (o *recordingOutbound) NewTimer(ctx workflow.Context, d time.Duration) workflow.Future {
	o.made.add("timer", map[string]string{"after": span(d)})
	return o.Next.NewTimer(ctx, d)
}

func (o *recordingOutbound) NewTimerWithOptions(ctx workflow.Context, d time.Duration, options workflow.TimerOptions) workflow.Future {
	o.made.add("timer", map[string]string{"after": span(d), "summary": options.Summary})
	return o.Next.NewTimerWithOptions(ctx, d, options)
}

func (o *recordingOutbound) SignalExternalWorkflow(ctx workflow.Context, workflowID, runID, name string, arg any) workflow.Future {
	o.made.add("signal", map[string]string{"name": name, "id": workflowID, "run": runID, "input": payload(arg)})
	return o.Next.SignalExternalWorkflow(ctx, workflowID, runID, name, arg)
}

func (o *recordingOutbound) SignalChildWorkflow(ctx workflow.Context, workflowID, name string, arg any) workflow.Future {
	o.made.add("signal", map[string]string{"name": name, "id": workflowID, "input": payload(arg)})
	return o.Next.SignalChildWorkflow(ctx, workflowID, name, arg)
}

func (o *recordingOutbound) RequestCancelExternalWorkflow(ctx workflow.Context, workflowID, runID string) workflow.Future {
	o.made.add("cancel", map[string]string{"id": workflowID, "run": runID})
	return o.Next.RequestCancelExternalWorkflow(ctx, workflowID, runID)
}

func (o *recordingOutbound) UpsertTypedSearchAttributes(ctx workflow.Context, attributes ...temporal.SearchAttributeUpdate) error {
	fields := map[string]string{}
	for key, value := range temporal.NewSearchAttributes(attributes...).GetUntypedValues() {
		fields[key.GetName()] = string(payloadOf(value).GetData())
	}
	o.made.add("attributes", fields)
	return o.Next.UpsertTypedSearchAttributes(ctx, attributes...)
}

func payload(values ...any) string {
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(values...)
	if err != nil {
		return "no payload: " + err.Error()
	}
	return payloads(encoded)
}

func payloadOf(value any) *commonpb.Payload {
	encoded, err := converter.GetDefaultDataConverter().ToPayload(value)
	if err != nil {
		return &commonpb.Payload{Data: []byte(err.Error())}
	}
	return encoded
}

func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func failureFields(f *failurepb.Failure) map[string]string {
	fields := map[string]string{"type": f.GetApplicationFailureInfo().GetType(), "error": f.GetMessage()}
	if details := f.GetApplicationFailureInfo().GetDetails(); details != nil {
		fields["details"] = payloads(details)
	}
	return fields
}

func payloads(all *commonpb.Payloads) string {
	var b strings.Builder
	for _, p := range all.GetPayloads() {
		b.Write(p.GetData())
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
