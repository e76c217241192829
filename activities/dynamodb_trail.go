package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"sluice/internal/throughput"
)

// tokenLife is how long a transaction may be repeated under its token: the
// service forgets it ten minutes after the first request.
const tokenLife = 9 * time.Minute

// dynamoCheckpoint is what an attempt leaves to the next.
type dynamoCheckpoint struct {
	// Arrived is when the call was first made: its place in the queue.
	Arrived time.Time `json:"arrived"`
	// Sending is when a write was first sent that must not be repeated, while it
	// is not known what became of it.
	Sending *time.Time `json:"sending,omitempty"`
	// Done is what a batch has achieved.
	Done *batchDone `json:"done,omitempty"`
}

// A trail keeps the checkpoint of an attempt and its heartbeats. The mark that a
// write is being sent has to be recorded for certain before it is, and must not
// be overtaken by an older heartbeat. The SDK batches heartbeats and swallows
// their errors, so calls that need a mark heartbeat through the client alone, one
// at a time.
type trail struct {
	marks HeartbeatRecorder
	token []byte

	mu      sync.Mutex
	now     dynamoCheckpoint
	durable bool // Temporal has a checkpoint with the mark
}

// newTrail reads what earlier attempts left.
func newTrail(ctx context.Context, marks HeartbeatRecorder) (*trail, error) {
	info := activity.GetInfo(ctx)
	t := &trail{marks: marks, token: info.TaskToken}
	if _, err := Checkpoint(ctx, &t.now); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if t.now.Arrived.IsZero() {
		t.now.Arrived = info.ScheduledTime
	}
	t.durable = t.now.Sending != nil
	return t, nil
}

// checkpoint is a copy for heartbeats and error details.
func (t *trail) checkpoint() any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// achieved records the progress of a batch for the next heartbeat.
func (t *trail) achieved(done *batchDone) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Done = done
}

// mark records durably that a write is sent now. After an error it must not be.
func (t *trail) mark(ctx context.Context, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Sending != nil && t.durable {
		return nil
	}
	t.now.Sending = &now
	if err := t.marks.RecordActivityHeartbeat(ctx, t.token, t.now); err != nil {
		t.now.Sending = nil
		return err
	}
	t.durable = true
	return nil
}

// clear takes the mark back when the service has said that it did nothing. Should
// that not reach Temporal, the next attempt ends in doubt: late, but not wrong.
func (t *trail) clear(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Sending = nil
	if !t.durable {
		return
	}
	if t.marks.RecordActivityHeartbeat(context.WithoutCancel(ctx), t.token, t.now) == nil {
		t.durable = false
	}
}

// keepAlive is KeepAlive for calls that need a mark. The first heartbeat is the
// mark itself.
func (t *trail) keepAlive(ctx context.Context) (context.Context, func()) {
	return keepBeating(ctx, WorkingHeartbeat, nil, false, func(ctx context.Context) error { return goesOn(t.beat(ctx)) })
}

func (t *trail) beat(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.marks.RecordActivityHeartbeat(ctx, t.token, t.now)
}

// doubt is the failure of an attempt that finds an earlier one's mark. A
// transaction is still safe to repeat while the service remembers its token.
func (t *trail) doubt(r throughput.Request, now time.Time) error {
	sent := t.now.Sending
	if sent == nil || (r.Transact && now.Sub(*sent) < tokenLife) {
		return nil
	}
	return Fail(TypeAmbiguous, Failure{
		ErrorDetails: ErrorDetails{Operation: "DynamoDB." + r.Name, Target: r.Target()},
		Message:      fmt.Sprintf("sent at %s by an attempt that did not learn the answer; it may have been applied, and is not sent again", sent.UTC().Format(time.RFC3339)),
	})
}

// withToken gives a transaction that brings none the token under which it may be
// repeated: the same for all attempts of one activity.
func withToken(ctx context.Context, document json.RawMessage, r throughput.Request) json.RawMessage {
	if r.Name != "TransactWriteItems" || r.Token {
		return document
	}
	sum := sha256.Sum256([]byte(FirstRun(ctx) + "/" + activity.GetInfo(ctx).ActivityID))
	return spliced(document, `"ClientRequestToken":"`+hex.EncodeToString(sum[:16])+`"`)
}
