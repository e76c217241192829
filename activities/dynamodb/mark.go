package dynamodb

import (
	"context"
	"fmt"
	"time"

	"sluice/activities"
	"sluice/internal/throughput"
)

// mark sees, right before a write is sent that is not repeatable by itself, that
// it may be, and that Temporal knows. A nil trail is another activity's, whose own
// the mark is.
func (d *Activities) mark(ctx context.Context, t *trail, r throughput.Request) *failure {
	if t == nil {
		return nil
	}
	if t.marked() {
		return d.mayRepeat(ctx, t, r)
	}
	now, failed := d.markTime(ctx, r)
	if failed != nil {
		return failed
	}
	err := t.mark(ctx, now)
	switch {
	case err == nil:
		return nil
	case activities.EndsAttempt(err):
		return &failure{ended: err}
	default:
		return notNow(r, fmt.Errorf("not sent, since Temporal did not record that it would be: %w", err))
	}
}

// mayRepeat is the failure of a marked write that may not be sent again, nil if it
// may.
func (d *Activities) mayRepeat(ctx context.Context, t *trail, r throughput.Request) *failure {
	now, failed := d.markTime(ctx, r)
	if failed != nil {
		return failed
	}
	if doubt := t.doubt(r, now); doubt != "" {
		return &failure{request: r, refusal: &refusal{message: doubt, unsent: true}, errType: activities.TypeAmbiguous}
	}
	return nil
}

// markTime is the time that marks are made and judged by: for a transaction the
// service's, which is the one that forgets tokens.
func (d *Activities) markTime(ctx context.Context, r throughput.Request) (time.Time, *failure) {
	if r.Token == "" {
		return time.Now(), nil
	}
	now, err := d.service.askTime(ctx, r.Tables[0])
	if err != nil {
		return now, notNow(r, fmt.Errorf("not sent, since the service did not tell its time: %w", err))
	}
	return now, nil
}
