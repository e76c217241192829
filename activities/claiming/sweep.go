package claiming

import (
	"context"

	"sluice/internal/taskclaim"
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
	queues, err := p.azure.sources(ctx)
	if err != nil {
		p.inbox.noteError(signedURLsName, err)
	}
	for _, q := range queues {
		for free > 0 && ctx.Err() == nil && p.inbox.ready(q.Name()) {
			deliveries, err := q.Receive(ctx, min(free, taskclaim.MaxPoll))
			if ctx.Err() != nil {
				return result
			}
			if err != nil {
				p.inbox.failed(q.Name(), err)
				break
			}
			p.inbox.worked(q.Name())
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

// batch deals with the messages of one poll, each by itself: the count is looked
// at before anything is done, then the claims are made, what is about to start is
// recorded, and then started. It returns how many tasks were started or may have
// been.
func (p *poller) batch(ctx context.Context, q source, deliveries []delivery) (sweepResult, int) {
	result := sweepResult{found: len(deliveries)}
	var candidates []*candidate
	var poison []poisoned
	seen := map[string]bool{}
	for _, d := range deliveries {
		h := p.inbox.hold(q, d)
		reason, ok := p.inbox.read(h)
		id := wire.TaskID(h.message.TaskID, h.message.RunID)
		switch {
		case !ok:
			poison = append(poison, poisoned{h, reason})
		case seen[id]:
			p.inbox.giveBack(ctx, h) // its double in this batch decides; the next delivery finds it started
		default:
			seen[id] = true
			candidates = append(candidates, &candidate{held: h, runID: h.message.RunID, payload: h.message.Payload})
		}
	}
	inParallel(poison, func(x poisoned) { p.inbox.poison(ctx, x.held, x.reason) })
	result.decided += len(poison)

	p.starter.claimAll(ctx, candidates)
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
	started := p.starter.startAll(ctx, claimed)
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
