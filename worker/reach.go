package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"sluice"
)

// Timing of the look at Temporal.
const (
	reachEvery   = 5 * time.Second
	reachTimeout = 2 * time.Second // for an answer
	reachTold    = time.Minute     // without one, until the log tells
)

// reach watches whether Temporal answers and whether this version is current, and
// tells the log of what changes.
type reach struct {
	logger  *zap.Logger
	address string
	ask     func(context.Context) error // asks Temporal for anything
	version func(context.Context) (current bool, err error)
	command string // that makes this version the current one
	now     func() time.Time

	mu      sync.Mutex
	since   time.Time // no answer since; zero while there are answers
	told    bool
	current *bool // nil while unknown, and without a deployment
}

func newReach(c sluice.Config, made *sluice.Clients, logger *zap.Logger) *reach {
	r := &reach{logger: logger, address: made.Address, now: time.Now, command: currentCommand(c, made.Namespace)}
	r.ask = func(ctx context.Context) error {
		_, err := made.Temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		return err
	}
	if c.Deployment != "" {
		r.version = func(ctx context.Context) (bool, error) { return isCurrent(ctx, made.Temporal, c.Deployment, c.BuildID) }
	}
	return r
}

// watch looks every so often until ctx ends.
func (r *reach) watch(ctx context.Context) {
	ticker := time.NewTicker(reachEvery)
	defer ticker.Stop()
	for {
		r.check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// check asks Temporal now, and the log hears of it if that is due.
func (r *reach) check(ctx context.Context) check {
	asking, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	err := r.ask(asking)
	if ctx.Err() != nil {
		return check{Name: "temporal", Error: ctx.Err().Error()}
	}
	r.note(err)
	if err != nil {
		return check{Name: "temporal", Error: err.Error()}
	}
	r.lookAtVersion(asking)
	return check{Name: "temporal", OK: true}
}

func (r *reach) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	switch {
	case err != nil && r.since.IsZero():
		r.since = now
	case err != nil && !r.told && now.Sub(r.since) >= reachTold:
		r.told = true
		r.logger.Error("Temporal unreachable for 1m", zap.String("address", r.address), zap.Time("since", r.since), zap.Error(err))
	case err == nil && r.told:
		r.logger.Info("Temporal reachable again", zap.String("address", r.address), zap.Duration("after", now.Sub(r.since).Round(time.Second)))
		fallthrough
	case err == nil:
		r.since, r.told = time.Time{}, false
	}
}

// lookAtVersion learns whether this version is current, and logs what changes: one
// that isn't gets no new workflows, and nothing else would say so.
func (r *reach) lookAtVersion(ctx context.Context) {
	if r.version == nil {
		return
	}
	current, err := r.version(ctx)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.current == nil || *r.current == current:
	case current:
		r.logger.Info("this version is current now")
	default:
		r.logger.Warn("this version is not current any more: it gets no new work", zap.String("makeCurrent", r.command))
	}
	r.current = &current
}

// isCurrentNow is the last that is known; nil where nothing is.
func (r *reach) isCurrentNow() *bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// isCurrent asks which version of the deployment is current.
func isCurrent(ctx context.Context, c client.Client, deployment, build string) (bool, error) {
	described, err := c.WorkerDeploymentClient().GetHandle(deployment).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	var none *serviceerror.NotFound // before its first worker has polled
	if errors.As(err, &none) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	current := described.Info.RoutingConfig.CurrentVersion
	return current != nil && current.BuildID == build, nil
}
