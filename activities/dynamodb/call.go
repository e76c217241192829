package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"sluice/activities"
	"sluice/activities/dynamodb/scheduler"
	"sluice/internal/backoff"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

const (
	callTimeout = 15 * time.Second // of one request to the service
	repeatsHere = 3                // of a request within an attempt, before Temporal waits
)

var (
	// betweenCalls is the wait before a repeat within an attempt.
	betweenCalls = backoff.Policy{Base: 50 * time.Millisecond, Cap: time.Second} //nolint:gochecknoglobals // a constant
	// betweenAttempts is the wait that Temporal is asked for after one.
	betweenAttempts = backoff.Policy{Base: 2 * time.Second, Cap: time.Minute} //nolint:gochecknoglobals // a constant
)

// An attempt is who makes calls: their place in the queue and what is known of
// earlier attempts.
type attempt struct {
	operation string
	class     int
	arrived   time.Time // when the first attempt was scheduled
	number    int       // of Temporal's attempts, from 1
	trail     *trail    // nil inside another activity
	said      string    // what the service said when it last refused
	applied   int       // of a batch's write requests, from the first
}

// checkpoint is what the attempt leaves, nil for nothing.
func (a *attempt) checkpoint() any {
	if a.trail == nil {
		return nil
	}
	return a.trail.checkpoint()
}

// do asks for the consumed capacity, and gives the caller what it asked for.
func (d *Activities) do(ctx context.Context, a *attempt, r throughput.Request, document json.RawMessage) (json.RawMessage, error) {
	document, err := withCapacity(document, r)
	if err != nil {
		return nil, invalid(r, err)
	}
	var answer json.RawMessage
	switch r.Name {
	case "BatchGetItem":
		answer, err = d.batchRead(ctx, a, r, document)
	case "BatchWriteItem":
		answer, err = d.batchWrite(ctx, a, r, document)
	default:
		answer, err = d.call(ctx, a, r, document)
	}
	if err != nil {
		return nil, err
	}
	return asAsked(answer, r)
}

// call sends one request within the throttle, and repeats it here a few times
// where that is right; each is charged.
func (d *Activities) call(ctx context.Context, a *attempt, r throughput.Request, document json.RawMessage) (json.RawMessage, error) {
	for repeat := 1; ; repeat++ {
		answer, failed := d.once(ctx, a, r, document)
		if failed == nil {
			return answer, nil
		}
		a.heard(failed)
		switch {
		case failed.ended != nil:
			return nil, activities.EndedBy(failed.ended, wire.DynamoDBPrefix+a.operation, a.checkpoint())
		case failed.errType == activities.TypeAmbiguous:
			return nil, failed.error(a)
		}
		interrupted := activities.Interrupted(ctx, wire.DynamoDBPrefix+a.operation, a.checkpoint())
		if interrupted == nil && failed.repeat && repeat <= repeatsHere {
			wait(ctx, betweenCalls.Delay(repeat, rand.Float64()))
			continue
		}
		if a.trail != nil && !r.Repeatable && !failed.verdict.Applied {
			a.trail.clear(ctx)
			interrupted = activities.Interrupted(ctx, wire.DynamoDBPrefix+a.operation, a.checkpoint())
		}
		if interrupted != nil {
			return nil, interrupted
		}
		return nil, failed.error(a)
	}
}

// heard remembers what the service said when it refused the call, for this attempt
// and those after it, and adds it where the reason that the call waits is ours: words
// of ours never stand for those of the service.
func (a *attempt) heard(failed *failure) {
	switch {
	case failed.ended != nil:
	case failed.refusal.status != 0:
		a.said = activities.Shorten(failed.refusal.Error())
		if a.trail != nil {
			a.trail.said(a.said)
		}
	case a.said == "" && a.trail != nil:
		a.said = a.trail.lastSaid()
		fallthrough
	default:
		if a.said != "" {
			failed.refusal.message += "; the service last said: " + a.said
		}
	}
}

// once is one request: its turn, the mark where it needs one, the exchange, the
// bill.
func (d *Activities) once(ctx context.Context, a *attempt, r throughput.Request, document json.RawMessage) (json.RawMessage, *failure) {
	t, err := d.scheduler.Acquire(ctx, r, a.class, a.arrived)
	if err != nil {
		return nil, notNow(r, err)
	}
	sending := ctx
	if !r.Repeatable {
		if failed := d.mark(ctx, a.trail, r); failed != nil {
			d.scheduler.Settle(t, scheduler.Outcome{Unsent: true})
			return nil, failed
		}
		sending = context.WithoutCancel(ctx) // its end has to be learned
	}
	sending, cancel := context.WithTimeout(sending, callTimeout)
	defer cancel()
	answer, err := d.service.send(sending, r.Name, r.Tables, document)
	if err == nil {
		charges, known := throughput.Charges(answer, r.Target())
		d.scheduler.Settle(t, scheduler.Outcome{Charges: charges, Known: known, Throttled: unprocessedIn(r, answer)})
		return answer, nil
	}
	f := failureOf(r, err)
	if f.verdict.Applied && a.trail != nil {
		a.trail.unsure()
	}
	d.scheduler.Settle(t, f.outcome)
	d.logger.Debug("DynamoDB call failed", "operation", r.Name, "table", r.Target(), "code", f.refusal.code,
		"status", f.refusal.status, "requestId", f.refusal.requestID)
	return nil, f
}

// wait waits, or until the context ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// notNow is the failure of a call that did not get its turn.
func notNow(r throughput.Request, err error) *failure {
	f := &failure{request: r, refusal: &refusal{message: err.Error(), unsent: true}, errType: activities.TypeUnavailable}
	var l *scheduler.Later
	if errors.As(err, &l) {
		f.errType, f.delay = activities.TypeThrottled, l.Delay
	}
	return f
}
