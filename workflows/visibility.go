package workflows

import (
	"go.temporal.io/sdk/interceptor"

	"sluice/workflows/internal/shell"
)

// Search attributes, all of type Keyword, which `starter setup` registers.
var (
	AttributeState   = shell.AttributeState   // the workflow's state or phase
	AttributeType    = shell.AttributeType    // a request's type, else the workflow type
	AttributeTarget  = shell.AttributeTarget  // table, stream, bucket or queue
	AttributeTrouble = shell.AttributeTrouble // the error type of what is waited for; "" when all is well
)

// AttributeNames lists the search attributes that have to be registered.
func AttributeNames() []string {
	return []string{AttributeState.GetName(), AttributeType.GetName(), AttributeTarget.GetName(), AttributeTrouble.GetName()}
}

// Interceptor is what a worker or a replayer of the workflows has to have: it tells
// them in which order messages came.
func Interceptor() interceptor.WorkerInterceptor { return shell.Interceptor() }
