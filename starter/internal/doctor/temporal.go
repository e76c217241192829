package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"sluice/internal/connect"
	"sluice/internal/wire"
	"sluice/workflows"
)

// Temporal looks at a namespace and at task queues in it.
type Temporal struct {
	Client    client.Client
	Namespace string
}

// Server tells the server's version.
func (t Temporal) Server(ctx context.Context) wire.DoctorCheck {
	c := wire.DoctorCheck{Name: "temporal"}
	info, err := t.Client.WorkflowService().GetClusterInfo(ctx, &workflowservice.GetClusterInfoRequest{})
	if err != nil {
		c.Error = err.Error()
		return c
	}
	c.OK, c.Detail = true, "server "+info.GetServerVersion()
	return c
}

// NamespaceCheck tells whether the namespace is there and how long it keeps what
// is closed.
func (t Temporal) NamespaceCheck(ctx context.Context) wire.DoctorCheck {
	c := wire.DoctorCheck{Name: "namespace", Target: t.Namespace}
	described, err := t.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: t.Namespace})
	var missing *serviceerror.NamespaceNotFound
	switch {
	case errors.As(err, &missing):
		c.Error = noNamespace(t.Namespace)
	case err != nil:
		c.Error = err.Error()
	default:
		c.OK, c.Detail = true, fmt.Sprintf("closed workflows are kept for %s", described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
	}
	return c
}

func noNamespace(name string) string {
	return "no such namespace; make it: temporal operator namespace create --namespace " + name
}

// Attributes tells whether the search attributes are registered.
func (t Temporal) Attributes(ctx context.Context) wire.DoctorCheck {
	c := wire.DoctorCheck{Name: "search attributes"}
	missing, err := connect.MissingAttributes(ctx, t.Client, t.Namespace, workflows.AttributeNames())
	var absent *serviceerror.NamespaceNotFound
	if errors.As(err, &absent) {
		c.Error = noNamespace(t.Namespace)
		return c
	}
	if err != nil {
		c.Error = err.Error()
		return c
	}
	if len(missing) > 0 {
		c.Error = "missing: " + strings.Join(missing, ", ") + "; register them: starter setup"
		return c
	}
	c.OK, c.Detail = true, strings.Join(workflows.AttributeNames(), ", ")
	return c
}

// fresh is how recently a worker has to have polled; a poll takes up to a minute.
const fresh = 70 * time.Second

// Pollers tells who polls a task queue, and whether a version that is not current
// waits there in vain. A queue that is optional may be polled by nobody.
func (t Temporal) Pollers(ctx context.Context, queue string, optional string) wire.DoctorCheck {
	c := wire.DoctorCheck{Name: "task queue", Target: queue}
	var identities, versions []string
	current := ""
	for _, kind := range []enumspb.TaskQueueType{enumspb.TASK_QUEUE_TYPE_WORKFLOW, enumspb.TASK_QUEUE_TYPE_ACTIVITY} {
		described, err := t.Client.DescribeTaskQueue(ctx, queue, kind)
		if err != nil {
			c.Error = err.Error()
			return c
		}
		if v := described.GetVersioningInfo().GetCurrentDeploymentVersion(); v.GetDeploymentName() != "" {
			current = v.GetDeploymentName() + " " + v.GetBuildId()
		}
		for _, p := range described.GetPollers() {
			if time.Since(p.GetLastAccessTime().AsTime()) >= fresh {
				continue
			}
			add(&identities, p.GetIdentity())
			if name := p.GetDeploymentOptions().GetDeploymentName(); name != "" {
				add(&versions, name+" "+p.GetDeploymentOptions().GetBuildId())
			}
		}
	}
	return pollers(c, seen{identities, versions, current, optional})
}

// seen is what a task queue was seen with.
type seen struct {
	identities, versions []string
	current              string // version
	optional             string // why nobody has to poll, "" where somebody has to
}

func pollers(c wire.DoctorCheck, s seen) wire.DoctorCheck {
	switch {
	case len(s.identities) == 0 && s.optional == "":
		c.Error = "no worker polls it: start one with SLUICE_TASK_QUEUE=" + c.Target
	case len(s.identities) == 0:
		c.OK, c.Detail = true, "no worker polls it; "+s.optional
	case len(s.versions) > 0 && !slices.Contains(s.versions, s.current):
		name, build, _ := strings.Cut(s.versions[0], " ")
		c.Error = fmt.Sprintf("workers of version %s get no work, for %s is current; make theirs current: temporal worker deployment set-current-version --deployment-name %s --build-id %s",
			strings.Join(s.versions, ", "), orNone(s.current), name, build)
	default:
		c.OK, c.Detail = true, "polled by "+strings.Join(s.identities, ", ")
		if s.current != "" {
			c.Detail += "; current version " + s.current
		}
	}
	return c
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return version
}
