package claiming

import (
	"context"
	"errors"
	"time"

	"sluice/activities/azurequeue"
	"sluice/internal/taskclaim"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// sweepResult tells what a look at all queues came to.
type sweepResult struct {
	found     int  // messages received
	decided   int  // messages about which something was decided
	undecided int  // messages kept since nobody could decide
	refused   bool // what the claimer was set to is refused
}

func (s *sweepResult) add(o sweepResult) {
	s.found += o.found
	s.decided += o.decided
	s.undecided += o.undecided
	s.refused = s.refused || o.refused
}

// sweep claims up to free tasks: each queue in order until it is empty, so that
// a lower one is only touched when those above have nothing. A queue that fails
// is told of, rests, and does not keep the others waiting.
func (p *poller) sweep(ctx context.Context, free int) (result sweepResult) {
	queues, err := p.sources(ctx)
	if err != nil {
		p.noteError(signedURLsName, err)
	}
	for _, q := range queues {
		for free > 0 && ctx.Err() == nil && p.queueReady(q.Name()) {
			deliveries, err := q.Receive(ctx, min(free, taskclaim.MaxPoll))
			if ctx.Err() != nil {
				return result
			}
			if err != nil {
				p.queueFailed(q.Name(), err)
				break
			}
			p.queueWorked(q.Name())
			if len(deliveries) == 0 {
				break
			}
			part, started := p.batch(ctx, q, deliveries)
			result.add(part)
			free -= started
			if part.refused || part.undecided > 0 && part.decided == 0 {
				return result // nobody decides: more claims would only be more to give back
			}
			if len(deliveries) < min(free, taskclaim.MaxPoll) && started == 0 {
				break // only poison or refused ones: do not spin on it in this sweep
			}
		}
	}
	return result
}

// sources returns the queues in order of priority.
func (p *poller) sources(ctx context.Context) ([]azurequeue.Source, error) {
	if p.signed != nil {
		return p.signed.List(ctx, time.Now())
	}
	if p.Claimer.Queues == nil {
		return nil, errors.New(azurequeue.NoCredentials(p.in.TaskQueue))
	}
	queues := make([]azurequeue.Source, len(p.in.Spec.Queues))
	for i, q := range p.in.Spec.Queues {
		queues[i] = p.storeQueue(q.Name)
	}
	return queues, nil
}

// candidate is a message that may become a task.
type candidate struct {
	*held
	runID   int64
	lease   taskclaim.Lease
	payload []byte
	start   taskclaim.Fate
	state   startState
	known   bool // an earlier try to start it left it unsure
}

// batch deals with the messages of one poll, each by itself: the count is looked
// at before anything is done, then the claims are made, what is about to start is
// recorded, and then started. It returns how many tasks were started or may have
// been.
func (p *poller) batch(ctx context.Context, q azurequeue.Source, deliveries []azurequeue.Message) (sweepResult, int) {
	result := sweepResult{found: len(deliveries)}
	var candidates []*candidate
	var poison []poisoned
	seen := map[string]bool{}
	for _, d := range deliveries {
		h := p.hold(q, d)
		reason, ok := p.read(h)
		id := wire.TaskID(h.message.TaskID, h.message.RunID)
		switch {
		case !ok:
			poison = append(poison, poisoned{h, reason})
		case seen[id]:
			p.release0(ctx, h) // its double in this batch decides; the next delivery finds it started
		default:
			seen[id] = true
			candidates = append(candidates, &candidate{held: h, runID: h.message.RunID, payload: h.message.Payload})
		}
	}
	inParallel(poison, func(x poisoned) { p.poison(ctx, x.held, x.reason) })
	result.decided += len(poison)

	p.claimAll(ctx, candidates)
	claimed := candidates[:0:0]
	for _, c := range candidates {
		switch c.start {
		case taskclaim.Start:
			claimed = append(claimed, c)
		case taskclaim.Drop:
			result.decided++
		default:
			result.undecided++
		}
	}
	started := p.startAll(ctx, claimed)
	for _, c := range claimed {
		result.refused = result.refused || c.state == startRefused
		if c.state == startFailed || c.state == startUnsure || c.state == startRefused {
			result.undecided++
		} else {
			result.decided++
		}
	}
	return result, started
}

// read decodes a message and judges its number of deliveries. It returns the
// reason when the message is poison.
func (p *poller) read(h *held) (reason string, ok bool) {
	if h.broken != nil {
		return h.broken.Error(), false
	}
	m, err := taskmessage.Decode(h.Text)
	m.Excused = m.ExcusedOf(h.DequeueCount)
	h.message = m
	p.mu.Lock()
	excused := m.Excused + p.excused.get(h.ID)
	p.mu.Unlock()
	if err != nil {
		return err.Error(), false
	}
	switch p.limits.Judge(h.DequeueCount, excused) {
	case taskmessage.Poison:
		return p.limits.TooOften(h.DequeueCount, excused), false
	case taskmessage.Warn:
		p.log.Warn("message is delivered often", "queue", h.from.Name(), "taskId", m.TaskID, "runId", m.RunID,
			"dequeueCount", h.DequeueCount, "excused", excused, "poisonAt", p.limits.Poison)
	}
	return "", true
}

// release0 gives a message back as it is, at once.
func (p *poller) release0(ctx context.Context, h *held) {
	if owned, ok := h.from.(azurequeue.Owned); ok {
		p.release(ctx, h, owned, h.Text, time.Second)
	}
	p.letGo(h)
}

// claimAll asks the task service about every candidate; without one the start of
// the Task decides.
func (p *poller) claimAll(ctx context.Context, candidates []*candidate) {
	spec := p.in.Spec.Claim
	if !spec.Used() {
		for _, c := range candidates {
			c.start = taskclaim.Start
		}
		return
	}
	inParallel(candidates, func(c *candidate) {
		asked := time.Now()
		claimed := p.Service.Claim(ctx, spec, c.message.TaskID, c.message.RunID)
		p.meter.Timer("sluice_claim_latency").Record(time.Since(asked))
		c.start = claimed.Fate
		switch claimed.Fate {
		case taskclaim.Start:
			c.runID, c.lease, c.payload = claimed.RunID, claimed.Lease, claimed.Payload
		case taskclaim.Drop:
			p.log.Info("task refused by the service: its message is deleted", "queue", c.from.Name(),
				"taskId", c.message.TaskID, "runId", c.message.RunID, "answer", claimed.Answer.String())
			p.count("sluice_claim_refused", c.from.Name())
			p.deleteSoon(ctx, c.held)
		default:
			p.noteError(c.from.Name(), errors.New("Task.Claim: "+claimed.Answer.String()))
			p.keep(ctx, c.held, claimed.Answer.String())
		}
	})
}
