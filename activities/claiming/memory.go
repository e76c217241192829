package claiming

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/wire"
)

// memory takes a picture of the state, for a heartbeat or a report.
func (p *poller) memory() (m wire.PollMemory) {
	p.books.remember(&m)
	p.inbox.remember(&m)
	return m
}

// restore takes over from an earlier attempt, or from the activity before.
func (p *poller) restore(ctx context.Context) error {
	owed := p.in.Carry.Owed
	if activity.HasHeartbeatDetails(ctx) {
		var m wire.PollMemory
		if err := activity.GetHeartbeatDetails(ctx, &m); err != nil {
			return err
		}
		p.books.restore(m, time.Now())
		p.inbox.restore(m)
		owed = m.Carry.Owed
	}
	for _, o := range owed {
		p.inbox.adopt(ctx, o)
	}
	return nil
}

// beat records the state with the server and waits for its answer. Only this
// call heartbeats: the SDK's own RecordHeartbeat may send an older state later.
func (p *poller) beat(ctx context.Context) error {
	p.beatMu.Lock()
	defer p.beatMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	err := p.Temporal.RecordActivityHeartbeat(ctx, p.info.TaskToken, p.memory())
	switch {
	case err == nil:
		return nil
	case activities.IsNotFound(err):
		p.cancel(errFenced)
	case temporal.IsCanceledError(err):
		p.recall() // what is under way is finished first
		return nil
	case errors.Is(err, activity.ErrActivityPaused), errors.Is(err, activity.ErrActivityReset):
		p.cancel(err)
	}
	return err
}

// startKeepers runs what goes on beside the loop: heartbeats, the extension of
// visibility, the look at the worker's stop. The returned function ends it.
func (p *poller) startKeepers(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		p.keepBeating(ctx)
	}()
	go p.control.follow(ctx, p.info.ScheduledTime, func() { activities.Notify(p.prompt) })
	go func() {
		defer func() { done <- struct{}{} }()
		every(ctx, p.inbox.extendEvery(), func() { p.inbox.extendHeld(ctx) })
	}()
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			p.cancel(activities.ErrWorkerStopping)
		case <-ctx.Done():
		}
	}()
	return sync.OnceFunc(func() {
		cancel()
		p.cancel(nil) // deletes still under way are owed
		<-done
		<-done
		<-p.control.ended
		p.inbox.removals.Wait()
	})
}

// keepBeating heartbeats as far apart as is agreed, and at once when a cancel is
// there, of which the answer tells; again where it could not be asked. The first one
// may wait: what the activity began with its workflow knows.
func (p *poller) keepBeating(ctx context.Context) {
	tick := time.NewTicker(p.spacing())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.prompt:
		case <-ctx.Done():
			return
		}
		if err := p.beat(ctx); err != nil && ctx.Err() == nil {
			p.log.Warn("claimer's heartbeat failed", "error", err)
			time.AfterFunc(controlEvery, func() { activities.Notify(p.prompt) })
		}
	}
}

// every runs f at once and then at each interval until the context ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		f()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// interrupted tells whether the activity must end without a report, after the
// state has been recorded for the attempt that follows.
func (p *poller) interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, errFenced) {
		return cause
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	if err := p.beat(last); err != nil {
		p.log.Warn("claimer's last heartbeat failed", "error", err)
	}
	if err := activities.Interrupted(ctx, wire.ClaimPoll.Name, p.memory()); err != nil {
		return err
	}
	return context.Cause(ctx)
}
