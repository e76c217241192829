package scheduler

import (
	"context"
	"math/rand/v2"
	"time"

	"sluice/internal/duration"
	"sluice/internal/throughput"
)

const (
	leaseTimeout   = 10 * time.Second // of one request to the owner
	releaseTimeout = time.Second
	// leaseIdle is how long an account keeps its lease without a call, at least: one
	// that is used now and then gets leases for minutes.
	leaseIdle = time.Minute
	// leaseLook is how often a loop looks whether the worker wants more than it has.
	leaseLook = time.Second
)

// lease keeps an account's share until nothing has asked for it for a while, or
// the worker ends; then it gives the share back.
func (s *Scheduler) lease(a *account) {
	for {
		request, asked := s.request(a)
		ctx, cancel := context.WithTimeout(s.ctx, leaseTimeout)
		lease, err := s.owner.Lease(ctx, a.resource.String(), request)
		cancel()
		s.leased(a, asked, request, lease, err)
		if !s.await(a) && s.release(a) {
			return
		}
	}
}

// release gives an account's share back; it reports false when a call wanted some
// again meanwhile.
func (s *Scheduler) release(a *account) bool {
	s.mu.Lock()
	_, rest := a.tenant.Holds(s.now())
	a.tenant = throughput.Tenant{}
	a.budget.SetRate(s.now(), 0)
	s.mu.Unlock()
	if rest > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), releaseTimeout)
		defer cancel()
		if err := s.owner.Release(ctx, a.resource.String(), s.worker); err != nil {
			s.logger.Debug("share not given back; it comes back when its lease ends", "resource", a.resource.String(), "error", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil && (a.waiting.Total() > 0 || s.now().Sub(a.used) < leaseIdle) {
		return false
	}
	a.leasing = false
	return true
}

// request tells the owner what this worker sends and would like to send.
func (s *Scheduler) request(a *account) (throughput.LeaseRequest, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	a.forget(now)
	a.sample(now)
	demand := a.asked(now)
	units, rest := a.tenant.Holds(now)
	request := throughput.LeaseRequest{
		Worker: s.worker, Demand: demand, Consumed: a.consumed, Throttled: a.throttled, Fastest: a.fastest.take(),
		TaskQueue: s.taskQueue, Table: a.arn, Steady: duration.Duration(s.steady), Holds: units, For: duration.Duration(rest),
	}
	a.figures.report(now, a)
	a.sent, a.consumed, a.throttled, a.since = throughput.Demand{}, 0, 0, now
	return request, now
}

// leased puts the answer in force.
func (s *Scheduler) leased(a *account, asked time.Time, request throughput.LeaseRequest, lease throughput.Lease, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	unknown := !a.known()
	switch {
	case err == nil:
		a.tenant.Granted(asked, now, request.Demand.Total(), lease, rand.Float64())
	case s.ctx.Err() != nil:
		return
	default:
		a.tenant.Failed(now, err, rand.Float64())
		a.figures.unleased.Inc(1)
		a.consumed += request.Consumed // told with the next one
		a.throttled += request.Throttled
		if a.tenant.Failures() == 1 {
			s.logger.Warn("budget owner not reached; going on with the share in hand", "resource", a.resource.String(), "error", err)
		}
	}
	s.apply(a, now)
	if unknown && a.known() {
		for _, l := range a.lines {
			s.thin(l, now)
		}
	}
}

// apply sets what the account may spend by its lease, and sends out what may go.
func (s *Scheduler) apply(a *account, now time.Time) {
	units, unlimited := a.tenant.Share(now, a.rate.Total())
	if unlimited {
		a.budget.SetUnlimited(now)
	} else {
		a.budget.SetRate(now, units)
	}
	for _, l := range a.lines {
		s.dispatch(l, now)
	}
}

// await waits until it is time for the next lease; it reports false when the
// account is no longer in use.
func (s *Scheduler) await(a *account) bool {
	tick := time.NewTicker(leaseLook)
	defer tick.Stop()
	for {
		next, idle := s.look(a)
		switch {
		case idle || s.ctx.Err() != nil:
			return false
		case next <= 0:
			return true
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-tick.C:
		case <-a.kick:
		case <-s.ctx.Done():
		}
		timer.Stop()
	}
}

// look sees whether the worker wants more than it has, lets an owner's silence
// count, and tells how long it is until the next lease is to be asked for, and
// whether nobody needs one: nothing was sent since the last, or for a minute, and
// nothing is owed. An account that is used once in a while goes on.
func (s *Scheduler) look(a *account) (next time.Duration, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	a.forget(now)
	a.figures.report(now, a)
	a.tenant.Wants(now, a.wanted().Total(), rand.Float64())
	if a.tenant.Failures() > 0 {
		s.apply(a, now)
	}
	next = a.tenant.Next().Sub(now)
	lasting := max(leaseIdle, now.Sub(a.since))
	idle = next <= 0 && a.waiting.Total() == 0 && a.budget.Level(now) >= 0 && now.Sub(a.used) >= lasting
	return next, idle
}
