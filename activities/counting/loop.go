package counting

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/backoff"
	"sluice/internal/duration"
	"sluice/internal/errortype"
	"sluice/internal/s3event"
	"sluice/internal/wire"
)

const (
	// finishing is how long the batch under way may take when the activity is told
	// to end; a batch takes a second or two.
	finishing = 15 * time.Second
	// idleAfter is how long no message must have come for the queue to be idle.
	idleAfter = time.Minute
)

// Phases that Count reports.
const (
	countCalm = "calm" // idle for so long that heartbeats are rare
	countIdle = "idle"
	countBusy = "busy"
)

// counting is one run of Count.
type counting struct {
	queue   *eventQueue
	ledger  *ledger
	drain   bool
	calm    activities.Calm
	now     func() time.Time // as the server has it
	began   time.Time
	metrics client.MetricsHandler
	logger  log.Logger

	figures   wire.CountFigures
	failing   sync.Mutex // for the figures of failed calls
	inARow    int        // of them, since something was counted or received
	trouble   *activities.TroubleTeller
	published atomic.Pointer[wire.CountFigures]
}

func (c *counting) publish() {
	figures := c.figures
	figures.Arrivals.Count = slices.Clone(figures.Arrivals.Count) // the next news is added in place
	c.published.Store(&figures)
}

func (c *counting) snapshot() wire.CountFigures { return *c.published.Load() }

// run receives a load of messages while the one before is written and the one
// before that is deleted. When it is to end, what has been received is counted
// first: left alone it would come again only when its visibility timeout ends, and
// a queue that is being drained would look empty meanwhile.
func (c *counting) run(ctx context.Context) (wire.CountReport, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.open(ctx); err != nil {
		return wire.CountReport{}, err
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	lasting, end := outlive(ctx, finishing)
	defer end()
	loads := make(chan load)
	go func() {
		defer close(loads)
		c.receive(lasting, waiting, loads)
	}()
	var deleting sync.WaitGroup
	defer deleting.Wait()
	var report wire.CountReport
	told := false
	for l := range loads {
		if l.err != nil {
			if told {
				break // the next run meets it again
			}
			return wire.CountReport{}, l.err
		}
		c.take(ctx, l, &deleting)
		if told {
			continue
		}
		if report, told = c.due(l, c.now()); told {
			stop()
		}
	}
	if !told {
		return wire.CountReport{}, ctx.Err()
	}
	report.Figures = c.figures
	return report, nil
}

// open finishes what was left half done, and fails where queue or table are not
// ours to use.
func (c *counting) open(ctx context.Context) error {
	err := c.persist(ctx, func(ctx context.Context) error { return c.ledger.recover(ctx) })
	if err == nil {
		c.figures.Opened = true
	}
	return err
}

// receive gathers loads until waiting ends or, draining, nothing is left; what is
// being gathered then is handed on. A load without messages is handed on too, so
// that the figures get reported.
func (c *counting) receive(ctx, waiting context.Context, loads chan<- load) {
	failures := 0
	for waiting.Err() == nil {
		l := c.queue.gather(ctx, waiting, c.drain)
		if waiting.Err() != nil && len(l.messages) == 0 {
			return
		}
		if failures++; l.err == nil {
			failures = 0
		} else if c.queue.reached || errortype.Retryable(activities.TypeOf(l.err)) {
			l.failure, l.err = l.err, nil
		}
		select {
		case loads <- l:
		case <-ctx.Done():
			return
		}
		if l.err != nil || c.drain && l.failure == nil && len(l.messages) == 0 {
			return
		}
		if failures > 0 && activities.Sleep(waiting, delayAfter(failures)) != nil {
			return
		}
	}
}

// delayAfter is the pause after so many failures in a row.
func delayAfter(failures int) time.Duration {
	return backoff.Policy{Base: 200 * time.Millisecond, Cap: 10 * time.Second}.Ceiling(failures)
}

// take counts a load and has its messages deleted.
func (c *counting) take(ctx context.Context, l load, deleting *sync.WaitGroup) {
	if l.failure != nil {
		c.failed(l.failure)
		return
	}
	if len(l.messages) == 0 {
		c.worked()
		return
	}
	read := c.read(l)
	// What was begun is finished, within reason, when the activity is to end.
	lasting, cancel := outlive(ctx, finishing)
	err := c.persist(lasting, func(ctx context.Context) error {
		done, err := c.ledger.apply(ctx, read.events)
		if done.news > 0 {
			c.figures.News += done.news
			c.figures.Arrivals.Add(c.now(), done.news)
		}
		c.figures.RawKeys += done.rawKeys
		c.figures.Batches += done.batches
		return err
	})
	if err != nil {
		cancel()
		return // not counted, so not deleted: the messages come again
	}
	c.figures.Messages += int64(len(l.messages))
	c.figures.Events += int64(len(read.events))
	c.figures.Passed += int64(read.passed)
	c.figures.Unreadable += int64(read.unreadable)
	c.figures.LastUnreadable = cmp.Or(read.lastUnreadable, c.figures.LastUnreadable)
	c.figures.LastMessageAt = c.now()
	c.figures.LastError = ""
	c.worked()
	c.metrics.Counter("sluice_count_events").Inc(int64(len(read.events)))
	c.metrics.Counter("sluice_count_unreadable").Inc(int64(read.unreadable))
	c.publish()
	deleting.Add(1)
	go func() {
		defer deleting.Done()
		defer cancel()
		if err := c.queue.delete(lasting, read.handles); err != nil {
			c.logger.Warn("Messages that were counted could not be deleted; they come again and change nothing.", "error", err)
		}
	}()
}

// loadRead is what a load's messages say.
type loadRead struct {
	events     []s3event.Event
	handles    []string // of the messages to delete
	passed     int
	unreadable int
	// lastUnreadable is the last of them, and why.
	lastUnreadable string
}

// read parses a load. A message that can't be read, or not in whole, stays in the
// queue for its redrive policy.
func (c *counting) read(l load) loadRead {
	var r loadRead
	for _, m := range l.messages {
		parsed, err := s3event.Parse([]byte(m.body))
		r.events = append(r.events, parsed.Events...)
		r.passed += parsed.Passed
		err = errors.Join(append([]error{err}, parsed.Faults...)...)
		if err != nil {
			r.unreadable++
			r.lastUnreadable = activities.Shorten("message " + m.id + ": " + activities.Redact(err.Error()))
			c.logger.Warn("A message could not be read and is left to the queue's redrive policy.",
				"queue", c.queue.name(), "messageId", m.id, "error", activities.Shorten(err.Error()))
			continue
		}
		r.handles = append(r.handles, m.handle)
	}
	return r
}

// persist repeats work on the table until it succeeds, ctx ends, or it fails at
// first use for a reason that repeating does not mend.
func (c *counting) persist(ctx context.Context, work func(context.Context) error) error {
	for failures := 1; ; failures++ {
		err := work(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !c.figures.Opened && !errortype.Retryable(activities.TypeOf(err)):
			return err
		}
		c.failed(err)
		if err := activities.Sleep(ctx, max(delayAfter(failures), delayIn(err))); err != nil {
			return err
		}
	}
}

// failed counts a failed call; the ledger's parallel calls do so as well.
func (c *counting) failed(err error) {
	c.failing.Lock()
	defer c.failing.Unlock()
	c.figures.Errors++
	c.figures.LastError = activities.Shorten(activities.Redact(err.Error()))
	if c.inARow++; c.inARow > 1 { // the first is mended by a repeat most often
		c.figures.Trouble = errortype.Trouble{Type: activities.TypeOf(err), Error: c.figures.LastError}.Typed()
		c.trouble.Tell(c.figures.Trouble)
	}
	c.metrics.Counter("sluice_count_errors").Inc(1)
	c.publish()
}

// worked ends a row of failures.
func (c *counting) worked() {
	c.failing.Lock()
	defer c.failing.Unlock()
	c.inARow, c.figures.Trouble = 0, errortype.Trouble{}
	c.trouble.Tell(c.figures.Trouble)
}

// delayIn is the delay that an error asks for.
func delayIn(err error) time.Duration {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.NextRetryDelay()
	}
	return 0
}

// due tells what there is to report after a load.
func (c *counting) due(l load, now time.Time) (wire.CountReport, bool) {
	report := wire.CountReport{At: now}
	report.Drained = c.drain && l.failure == nil && len(l.messages) == 0
	phase, spacing := c.phase(now)
	told := c.figures.Reports.Due(phase, now)
	if told {
		c.figures.Reports.Told(phase, now)
		c.figures.Spacing = duration.Duration(spacing)
		c.publish()
	}
	report.Figures = c.figures
	return report, told || report.Drained
}

// phase is what goes on, and how far apart the heartbeats are to be then. One that was
// calm before this attempt still is.
func (c *counting) phase(now time.Time) (string, time.Duration) {
	last := c.figures.LastMessageAt
	if c.figures.Reports.Phase != countCalm && c.began.After(last) {
		last = c.began
	}
	spacing := c.calm.Beats(now.Sub(last))
	switch {
	case now.Sub(c.figures.LastMessageAt) < idleAfter:
		return countBusy, spacing
	case now.Sub(last) >= c.calm.Threshold():
		return countCalm, spacing
	default:
		return countIdle, spacing
	}
}

// outlive is a context that ends so long after ctx does.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(by)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-lasting.Done():
		}
	})
	return lasting, func() { stop(); cancel() }
}
