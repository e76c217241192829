package claiming

import (
	"context"
	"fmt"

	"sluice/internal/taskmessage"
)

// poisoned is a message with the reason for which it is not run.
type poisoned struct {
	*held
	reason string
}

// poison moves a message aside: it is copied to the poison queue, then deleted.
// A message that can't be copied is not deleted, only left invisible for a
// while; one that was copied before is not copied again.
func (b *inbox) poison(ctx context.Context, h *held, reason string) {
	b.mu.Lock()
	copied := b.copied.get(h.ID) > 0
	b.mu.Unlock()
	if !copied {
		if err := b.edge.copyAside(ctx, h, reason); err != nil {
			b.log.Error("poisoned message could not be copied aside and stays on its queue", "queue", h.from.Name(), "messageId", h.ID, "error", err)
			b.noteError(h.from.Name(), fmt.Errorf("poison queue: %w", err))
			if queue, ok := h.from.(owned); ok {
				b.release(ctx, h, queue, h.Text, retryDelay(5))
			}
			b.letGo(h)
			return
		}
		b.tellPoison(h, reason)
	}
	b.deleteSoon(ctx, h)
}

func (b *inbox) tellPoison(h *held, reason string) {
	b.mu.Lock()
	b.copied.set(h.ID, 1)
	b.mu.Unlock()
	b.books.countPoisoned()
	b.news(h.from.Name(), fmt.Sprintf("message %s is poison: %s", h.ID, reason))
	b.count("sluice_claim_poisoned", h.from.Name())
	b.log.Warn("message is poison", "queue", h.from.Name(), "messageId", h.ID, "dequeueCount", h.DequeueCount, "reason", reason)
}

// PoisonQueue is the queue to which the poison of a queue goes.
func PoisonQueue(configured, queue string) string {
	if configured != "" {
		return configured
	}
	return queue + taskmessage.PoisonSuffix
}
