package dynamodb

import (
	"context"
	"time"

	"sluice/internal/throughput"
)

const (
	leaseTimeout = 5 * time.Second // of one request to the owner
	leaseAgain   = time.Second     // after one that failed
	leasePeriod  = throughput.LeaseTime * 3 / 4
	leaseEarly   = 2 * time.Second // least between a lease and one asked for by a throttle
	leaseIdle    = 15 * time.Second
)

// lease keeps an account's share until nothing has asked for it for a while, or
// the worker ends; then it gives the share back.
func (s *scheduler) lease(a *account) {
	for {
		request, started := s.request(a)
		ctx, cancel := context.WithTimeout(s.ctx, leaseTimeout)
		lease, err := s.owner.Lease(ctx, a.resource.String(), request)
		cancel()
		next := s.leased(a, started, request, lease, err)
		if !s.await(a, started, next) && s.release(a) {
			return
		}
	}
}

// release gives an account's share back; it reports false when a call wanted some
// again meanwhile.
func (s *scheduler) release(a *account) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), leaseAgain)
	defer cancel()
	if err := s.owner.Release(ctx, a.resource.String(), s.worker); err != nil {
		s.logger.Debug("share not given back; it comes back when its lease ends", "resource", a.resource.String(), "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil && s.now().Sub(a.used) < leaseIdle {
		return false
	}
	a.leasing = false
	return true
}

// request tells the owner what this worker sends and would like to send: what it
// sent lately, and what waits here or was sent back, within one lease.
func (s *scheduler) request(a *account) (throughput.LeaseRequest, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	a.forget(now)
	backlog := a.waiting
	for _, d := range a.deferred {
		backlog[d.class] += d.units
	}
	within := throughput.Milli(leasePeriod / time.Second)
	elapsed := max(now.Sub(a.since), time.Second)
	first := a.rate == throughput.Demand{} && a.sent == throughput.Demand{}
	if first {
		within = 1
	}
	var demand throughput.Demand
	for class := range demand {
		rate := throughput.Milli(float64(a.sent[class]) * float64(time.Second) / float64(elapsed))
		a.rate[class] = (a.rate[class] + rate + 1) / 2
		if a.rate[class] < rate {
			a.rate[class] = rate // follow a rise at once, a fall by halves
		}
		demand[class] = a.rate[class] + backlog[class]/within
	}
	request := throughput.LeaseRequest{Worker: s.worker, Demand: demand, Consumed: a.consumed, Throttled: a.throttled}
	a.figures.report(s.now(), a)
	a.sent, a.consumed, a.throttled, a.since = throughput.Demand{}, 0, 0, now
	return request, now
}

// leased puts a lease in force and returns when to ask for the next. An owner that
// can't be reached leaves the share for one lease; then it is halved every lease,
// down to one unit a second.
func (s *scheduler) leased(a *account, started time.Time, request throughput.LeaseRequest, lease throughput.Lease, err error) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	next := now.Add(leaseAgain)
	switch {
	case err == nil:
		a.known, a.paused, a.failures = true, lease.Paused, 0
		a.share, a.expires = lease.UnitsPerSecond, started.Add(lease.Validity())
		if lease.Unlimited {
			a.budget.SetUnlimited(now)
		} else {
			a.budget.SetRate(now, lease.UnitsPerSecond)
		}
		next = started.Add(lease.Validity() * 3 / 4)
	case s.ctx.Err() != nil:
		return next
	default:
		s.unreachable(a, request, now, err)
	}
	for _, l := range a.lines {
		s.dispatch(l, now)
	}
	return next
}

func (s *scheduler) unreachable(a *account, request throughput.LeaseRequest, now time.Time, err error) {
	a.failures++
	a.consumed += request.Consumed // told with the next one
	a.throttled += request.Throttled
	if a.failures == 1 {
		s.logger.Warn("budget owner not reached; going on with the share in hand", "resource", a.resource.String(), "error", err)
	}
	switch {
	case !a.known:
		a.known, a.share = true, throughput.Unit
	case now.Before(a.expires.Add(throughput.LeaseTime)):
		return
	case a.share == 0: // there was no limit
		a.share = max(a.rate.Total()/2, throughput.Unit)
	default:
		a.share = max(a.share/2, min(a.share, throughput.Unit))
	}
	a.expires = now
	a.budget.SetRate(now, a.share)
}

// await waits until it is time for the next lease; it reports false when the
// account is no longer in use.
func (s *scheduler) await(a *account, started, next time.Time) bool {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		timer := time.NewTimer(next.Sub(s.now()))
		select {
		case <-timer.C:
		case <-tick.C:
		case <-a.kick:
			if early := started.Add(leaseEarly); early.Before(next) {
				next = early
			}
		case <-s.ctx.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
		now := s.now()
		if s.idle(a, now) {
			return false
		}
		if !now.Before(next) {
			return true
		}
	}
}

// idle reports that the account was not used for a while, and closes it then: the
// next call leases anew.
func (s *scheduler) idle(a *account, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.figures.report(now, a)
	if a.waiting.Total() > 0 || now.Sub(a.used) < leaseIdle {
		return false
	}
	a.known, a.paused = false, false
	a.rate = throughput.Demand{}
	a.budget.SetRate(now, 0)
	return true
}

// close gives all shares back.
func (s *scheduler) close() {
	s.stop()
	s.loops.Wait()
}
