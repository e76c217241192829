package dynamodb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"sluice/activities"
	"sluice/internal/throughput"
)

// tokenLife is how long a transaction may be repeated under its token, by the
// service's clock: it forgets the token ten minutes after the first request.
const tokenLife = 9 * time.Minute

// checkpoint is what an attempt leaves to the next, and a try to the next.
type checkpoint struct {
	// Arrived is when the call was first made: its place in the queue.
	Arrived time.Time `json:"arrived"`
	// Sending is when a write was first sent that must not be repeated, while it
	// is not known what became of it: a transaction's by the service's clock.
	Sending *time.Time `json:"sending,omitempty"`
	// Token is what a transaction is sent under. The next try's own would be
	// another, under which the service would do the work again.
	Token string `json:"token,omitempty"`
	// Said is what the service said when it last refused the call.
	Said string `json:"said,omitempty"`
	// Done is what a batch has achieved.
	Done *batchDone `json:"done,omitempty"`
}

// A trail keeps the checkpoint of an attempt and its heartbeats. The mark that a
// write is being sent has to be recorded for certain before it is, and must not
// be overtaken by an older heartbeat. The SDK batches heartbeats and swallows
// their errors, so calls that need a mark heartbeat through the client alone, one
// at a time.
type trail struct {
	marks activities.HeartbeatRecorder
	task  []byte // Temporal's token of the attempt

	mu      sync.Mutex
	now     checkpoint
	durable bool // Temporal has a checkpoint with the mark
	inDoubt bool // an earlier request may be applied: no later answer takes the mark back
}

// newTrail reads what earlier attempts left.
func newTrail(ctx context.Context, marks activities.HeartbeatRecorder) (*trail, error) {
	info := activity.GetInfo(ctx)
	t := &trail{marks: marks, task: info.TaskToken}
	if _, err := activities.Checkpoint(ctx, &t.now); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if t.now.Arrived.IsZero() {
		t.now.Arrived = info.ScheduledTime
	}
	t.durable = t.now.Sending != nil
	t.inDoubt = t.durable
	return t, nil
}

// checkpoint is a copy for heartbeats and error details.
func (t *trail) checkpoint() any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// said records what the service said for the next heartbeat and attempt.
func (t *trail) said(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Said = text
}

// lastSaid is what it said last, to this attempt or an earlier one.
func (t *trail) lastSaid() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now.Said
}

// achieved records the progress of a batch for the next heartbeat.
func (t *trail) achieved(done *batchDone) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Done = done
}

// marked says that the write was sent, and that it is not known what became of it.
func (t *trail) marked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.durable
}

// mark records durably that a write is sent now. After an error it must not be.
func (t *trail) mark(ctx context.Context, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.marks == nil {
		return errors.New("there is no client of Temporal to record it")
	}
	t.now.Sending = &now
	if err := t.marks.RecordActivityHeartbeat(ctx, t.task, t.now); err != nil {
		t.now.Sending = nil
		return err
	}
	t.durable = true
	return nil
}

// unsure notes that a request may have been applied.
func (t *trail) unsure() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inDoubt = true
}

// clear takes the mark back when the service has said that it did nothing, unless
// it may have at an earlier request. Should that not reach Temporal, the next
// attempt ends in doubt: late, but not wrong.
func (t *trail) clear(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inDoubt {
		return
	}
	t.now.Sending = nil
	if !t.durable {
		return
	}
	if t.marks.RecordActivityHeartbeat(context.WithoutCancel(ctx), t.task, t.now) == nil {
		t.durable = false
	}
}

// keepAlive is activities.KeepAlive for calls that need a mark. The first heartbeat is the
// mark itself.
func (t *trail) keepAlive(ctx context.Context) (context.Context, func()) {
	return activities.KeepBeating(ctx, activities.WorkingHeartbeat, nil, false, func(ctx context.Context) error { return activities.EndingAnswer(t.beat(ctx)) })
}

func (t *trail) beat(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.marks.RecordActivityHeartbeat(ctx, t.task, t.now)
}

// doubt says why a marked write is not sent again; "" where it may be: a
// transaction, while the service remembers the token that it was sent under.
func (t *trail) doubt(r throughput.Request, now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	sent := t.now.Sending
	switch {
	case sent == nil, !t.inDoubt:
		return ""
	case r.Token == "":
		return sentAt(*sent) + "by an attempt that did not learn the answer; it may have been applied, and is not sent again"
	case r.Token != t.now.Token:
		return sentAt(*sent) + "under another token or none; it may have been applied, and is not sent again"
	case now.Sub(*sent) >= tokenLife:
		return sentAt(*sent) + "without an answer; it may have been applied, and is not sent again, since the service may have forgotten its token"
	}
	return ""
}

func sentAt(at time.Time) string { return "sent at " + at.UTC().Format(time.RFC3339) + " " }

// underToken gives a transaction that brings none the token under which it may be
// repeated: the same for all attempts of one activity, and for the tries that go
// on from their checkpoint.
func (t *trail) underToken(ctx context.Context, document json.RawMessage, r throughput.Request) (json.RawMessage, throughput.Request) {
	if r.Name != "TransactWriteItems" {
		return document, r
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Token == "" {
		if r.Token = t.now.Token; r.Token == "" {
			r.Token = newToken(ctx)
		}
		document = spliced(document, `"ClientRequestToken":`+string(encode(r.Token, nil)))
	}
	if t.now.Sending == nil {
		t.now.Token = r.Token
	}
	return document, r
}

func newToken(ctx context.Context) string {
	sum := sha256.Sum256([]byte(activities.IdempotencyKey(ctx)))
	return hex.EncodeToString(sum[:16])
}
