package claiming

import (
	"context"
	"errors"
	"time"

	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// claimAll asks the task service about every candidate; without one the start of
// the Task decides.
func (s *starter) claimAll(ctx context.Context, candidates []*candidate) {
	spec := s.spec.Claim
	if !spec.Used() {
		for _, c := range candidates {
			c.start = taskclaim.Start
		}
		return
	}
	inParallel(candidates, func(c *candidate) {
		asked := time.Now()
		claimed := s.service.Claim(ctx, spec, c.message.TaskID, c.message.RunID)
		s.meter.Timer("sluice_claim_latency").Record(time.Since(asked))
		c.start = claimed.Fate
		switch claimed.Fate {
		case taskclaim.Start:
			c.runID, c.lease, c.payload = claimed.RunID, claimed.Lease, claimed.Payload
		case taskclaim.Drop:
			s.log.Info("task refused by the service: its message is deleted", "queue", c.from.Name(),
				"taskId", c.message.TaskID, "runId", c.message.RunID, "answer", claimed.Answer.String())
			s.inbox.count("sluice_claim_refused", c.from.Name())
			s.inbox.deleteSoon(ctx, c.held)
		default:
			s.inbox.noteError(c.from.Name(), errors.New("Task.Claim: "+claimed.Answer.String()))
			s.inbox.keep(ctx, c.held, claimed.Answer.String())
		}
	})
}

// report tells the service of an exception, a few times if need be; a claim that
// could not be handed back runs out by itself.
func (s *starter) report(ctx context.Context, c *candidate, reason string) {
	ctx = context.WithoutCancel(ctx)
	for attempt := 1; attempt <= 3; attempt++ {
		answer := s.service.Resolve(ctx, s.spec.Claim.Service, c.message.TaskID, c.runID, wire.Outcome{State: wire.OutcomeException, Reason: reason})
		if taskclaim.Resolved(answer.Status) {
			return
		}
		s.log.Warn("exception could not be reported", "taskId", c.message.TaskID, "runId", c.runID, "reason", reason, "answer", answer.String())
		sleepUnless(ctx, time.Second, nil)
	}
}
