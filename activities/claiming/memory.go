package claiming

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/wire"
)

// memory takes a picture of the state, for a heartbeat or a report.
func (p *poller) memory() wire.PollMemory {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := wire.PollMemory{
		Tasks:    append([]wire.OpenTask(nil), p.tasks...),
		Lost:     append([]wire.LostTask(nil), p.news.lost...),
		Poisoned: p.news.poisoned,
		Excused:  p.news.excused,
		Queues:   p.queueStates(),
		Carry: wire.PollCarry{
			Excused: p.excused.list(), Copied: p.copied.list(), Credit: p.credit, Trouble: p.inTrouble(),
		},
	}
	for h := range p.held {
		if h.owed {
			m.Carry.Owed = append(m.Carry.Owed, wire.OwedDelete{Queue: h.from.Name(), MessageID: h.ID, Receipt: h.Receipt, Until: h.Until})
		}
	}
	return m
}

// restore takes over from an earlier attempt, or from the activity before.
func (p *poller) restore(ctx context.Context) error {
	owed := p.in.Carry.Owed
	p.tasks = p.in.Carry.Unsure
	if activity.HasHeartbeatDetails(ctx) {
		var m wire.PollMemory
		if err := activity.GetHeartbeatDetails(ctx, &m); err != nil {
			return err
		}
		p.tasks = m.Tasks
		p.news = pollNews{lost: m.Lost, poisoned: m.Poisoned, excused: m.Excused, other: true, since: time.Now()}
		p.excused, p.copied, p.credit = rememberAll(m.Carry.Excused), rememberAll(m.Carry.Copied), m.Carry.Credit
		for _, q := range m.Queues {
			p.queues[q.Name] = &queueView{state: q}
		}
		owed = m.Carry.Owed
	}
	for _, o := range owed {
		p.adopt(ctx, o)
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
	var gone *serviceerror.NotFound
	switch {
	case err == nil:
		return nil
	case errors.As(err, &gone):
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
		every(ctx, p.extendEvery(), func() { p.extendHeld(ctx) })
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
		p.removals.Wait()
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

// settle gives deletes under way a moment; the rest is owed.
func (p *poller) settle(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		p.removals.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
}

// idMemory remembers counts by message ID, the latest of them: an older message
// that is forgotten counts anew, which errs on the side of poison.
type idMemory struct {
	order []string
	count map[string]int64
}

const rememberAtMost = 500

func rememberAll(ids []wire.RememberedID) idMemory {
	var m idMemory
	for _, id := range ids {
		m.set(id.ID, id.N)
	}
	return m
}

func (m *idMemory) get(id string) int64 { return m.count[id] }

func (m *idMemory) set(id string, n int64) {
	if m.count == nil {
		m.count = map[string]int64{}
	}
	if _, known := m.count[id]; !known {
		m.order = append(m.order, id)
	}
	m.count[id] = n
	for len(m.order) > rememberAtMost {
		delete(m.count, m.order[0])
		m.order = m.order[1:]
	}
}

func (m *idMemory) forget(id string) {
	if _, known := m.count[id]; !known {
		return
	}
	delete(m.count, id)
	for i, other := range m.order {
		if other == id {
			m.order = append(m.order[:i:i], m.order[i+1:]...)
			return
		}
	}
}

func (m *idMemory) list() []wire.RememberedID {
	ids := make([]wire.RememberedID, len(m.order))
	for i, id := range m.order {
		ids[i] = wire.RememberedID{ID: id, N: m.count[id]}
	}
	return ids
}
