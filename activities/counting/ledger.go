package counting

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"sluice/activities"
	"sluice/activities/dynamodb"
	"sluice/internal/errortype"
	"sluice/internal/s3event"
)

// The table counts exactly although nothing is written in transactions. A batch of
// events is first written down as the intent item: its number, one above the
// last, and all that it makes of objects and counters, on condition that the
// number is the next. Then each object's ledger item and each counter are written,
// on condition that they have no batch of that number or a later one. Only then
// are the messages deleted. Whoever starts finishes the intent that it finds, which
// writes nothing that was written already, and a worker that was lost and comes
// back finds its number taken or its conditions false.
const (
	// writers bounds the parallel writes of a batch.
	writers = 32
	// keysAtOnce is how many items are read by one call; with mostVersions each
	// they stay below the size of an answer.
	keysAtOnce = 100
)

// errOvertaken says that another worker wrote the next batch.
var errOvertaken = errors.New("another worker wrote the next batch")

// ledger is the table, as one attempt of Count sees it.
type ledger struct {
	db       dynamodb.Caller
	table    string
	owner    string
	counting s3event.Counting
	failed   func(error)

	// number is that of the last batch, all of which is written; known says that
	// this is so.
	number int64
	known  bool
}

// applied is what came of events.
type applied struct{ news, rawKeys, batches int64 }

func (a *applied) add(b applied) {
	a.news += b.news
	a.rawKeys += b.rawKeys
	a.batches += b.batches
}

// apply counts events. It returns when all they change is written, or with an
// error when that is not known; then they are to be applied again.
func (l *ledger) apply(ctx context.Context, events []s3event.Event) (applied, error) {
	var done applied
	for len(events) > 0 {
		if err := l.recover(ctx); err != nil {
			return done, err
		}
		now, taken, err := l.once(ctx, events)
		done.add(now)
		switch {
		case errors.Is(err, errOvertaken):
			l.known = false
			if err := activities.Sleep(ctx, rand.N(50*time.Millisecond)); err != nil {
				return done, err
			}
		case err != nil:
			return done, err
		default:
			events = events[taken:]
		}
	}
	return done, nil
}

// recover finds out the last batch and finishes it.
func (l *ledger) recover(ctx context.Context) error {
	if l.known {
		return nil
	}
	in, err := l.readIntent(ctx)
	if err != nil {
		return err
	}
	if err := l.finish(ctx, in.number, in.batch); err != nil {
		return err
	}
	l.number, l.known = in.number, true
	return nil
}

// once makes a batch of as many of the events as an intent holds and writes it.
func (l *ledger) once(ctx context.Context, events []s3event.Event) (done applied, taken int, err error) {
	objects, totals, err := l.read(ctx, events)
	if err != nil {
		return done, 0, err
	}
	var batch s3event.Batch
	var document []byte
	for taken = len(events); ; taken = (taken + 1) / 2 {
		batch = l.counting.Plan(events[:taken], objects, totals, time.Now().UTC())
		if batch.Empty() {
			return done, taken, nil
		}
		document, err = l.intentDocument(l.number+1, batch)
		if err != nil {
			return done, 0, err
		}
		if len(document) <= mostIntent || taken == 1 {
			break
		}
	}
	if err := l.writeIntent(ctx, document); err != nil {
		return done, 0, err
	}
	l.known = false // until all of it is written
	if err := l.finish(ctx, l.number+1, batch); err != nil {
		return done, 0, err
	}
	l.number, l.known = l.number+1, true
	done = applied{news: int64(len(batch.Changes)), batches: 1}
	for _, change := range batch.Changes {
		if change.RawKey {
			done.rawKeys++
		}
	}
	return done, taken, nil
}

// writeIntent writes the next intent. When the answer is lost, or says that the
// number is taken, the item tells whose it is.
func (l *ledger) writeIntent(ctx context.Context, document []byte) error {
	_, err := l.db.Call(ctx, "PutItem", document, dynamodb.DefaultPriority)
	switch activities.TypeOf(err) {
	case "":
		return err
	case activities.TypeAmbiguous, activities.TypeConditionFailed:
	default:
		return err
	}
	in, readErr := l.readIntent(ctx)
	switch {
	case readErr != nil:
		l.known = false
		return readErr
	case in.number == l.number+1 && in.owner == l.owner:
		return nil
	default:
		return errOvertaken
	}
}

// finish writes what a batch makes of its objects, then of its counters. Each
// write may be repeated, so each is until it is done.
func (l *ledger) finish(ctx context.Context, number int64, batch s3event.Batch) error {
	err := l.parallel(len(batch.Changes), func(i int) error {
		return l.ensure(ctx, "PutItem", func() ([]byte, error) { return l.changeDocument(number, batch.Changes[i]) })
	})
	if err != nil {
		return err
	}
	return l.parallel(len(batch.Totals), func(i int) error {
		return l.ensure(ctx, "UpdateItem", func() ([]byte, error) { return l.totalDocument(number, batch.Totals[i]) })
	})
}

// ensure makes a conditional write until it is applied. A false condition says
// that it is.
func (l *ledger) ensure(ctx context.Context, operation string, document func() ([]byte, error)) error {
	body, err := document()
	if err != nil {
		return err
	}
	for failures := 1; ; failures++ {
		_, err := l.db.Call(ctx, operation, body, dynamodb.DefaultPriority)
		switch errType := activities.TypeOf(err); {
		case err == nil, errType == activities.TypeConditionFailed:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errType != activities.TypeAmbiguous && !errortype.Retryable(errType):
			return err
		case errType != activities.TypeThrottled:
			l.failed(err)
		}
		if err := activities.Sleep(ctx, max(delayAfter(failures), delayIn(err))); err != nil {
			return err
		}
	}
}

// parallel does n things, writers at a time, and returns the first error.
func (l *ledger) parallel(n int, do func(i int) error) error {
	var wg sync.WaitGroup
	var first error
	var once sync.Once
	next := make(chan int)
	for range min(writers, n) {
		wg.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return first
}
