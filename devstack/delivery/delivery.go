package delivery

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// lastAttempts is how long a stopped delivery tries to write what it has read.
const lastAttempts = 10 * time.Second

// A Delivery delivers one stream.
type Delivery struct {
	cfg      Config
	clients  Clients
	progress *progress
	batches  chan batch
	stop     context.CancelFunc
	done     chan struct{}

	mu     sync.Mutex
	status Status
	number int
}

// Start begins to deliver. A stream or bucket that isn't there yet is waited for.
func Start(cfg Config, clients Clients) (*Delivery, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	progress, err := loadProgress(cfg.Checkpoint)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &Delivery{cfg: cfg, clients: clients, progress: progress, batches: make(chan batch, 4), stop: stop, done: make(chan struct{}),
		status: Status{Stream: cfg.Stream, Bucket: cfg.Bucket, Prefix: cfg.Prefix}}
	go d.run(ctx)
	return d, nil
}

// Status is how far it is.
func (d *Delivery) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.status
}

// Stop ends the reading and delivers what is buffered, as far as that works
// within the grace.
func (d *Delivery) Stop(grace time.Duration) {
	d.stop()
	select {
	case <-d.done:
	case <-time.After(grace):
	}
}

// run reads in the background and delivers what arrives.
func (d *Delivery) run(ctx context.Context) {
	defer close(d.done)
	var readers sync.WaitGroup
	readers.Go(func() { d.followShards(ctx, &readers) })
	go func() { readers.Wait(); close(d.batches) }()

	buffer := newBuffer(d.cfg.BufferBytes, d.cfg.BufferInterval)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due, in := buffer.due(time.Now())
		if due && ctx.Err() == nil {
			d.deliver(ctx, buffer)
			continue
		}
		timer.Reset(max(in, time.Millisecond))
		if in == 0 {
			timer.Stop()
		}
		select {
		case b, more := <-d.batches:
			if !more {
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAttempts)
				defer cancel()
				d.deliver(last, buffer)
				return
			}
			buffer.add(b, time.Now())
			d.note(func(s *Status) { s.Buffered = buffer.records })
		case <-timer.C:
		}
	}
}

// deliver writes the buffer as an object, again and again until it is written;
// meanwhile the readers wait.
func (d *Delivery) deliver(ctx context.Context, b *buffer) {
	if b.records == 0 {
		return
	}
	key := d.key(b.since)
	for attempt := 0; ; attempt++ {
		_, err := d.clients.Objects.PutObject(ctx, &s3.PutObjectInput{Bucket: &d.cfg.Bucket, Key: &key, Body: bytes.NewReader(b.data)})
		if err == nil {
			break
		}
		d.failed(err)
		if !wait(ctx, delayAfter(attempt)) {
			return
		}
	}
	if err := d.progress.advance(b.reached); err != nil {
		d.failed(err)
	}
	d.note(func(s *Status) {
		s.Objects++
		s.Records += b.records
		s.Buffered, s.LastError = 0, ""
	})
	b.clear()
}

// key is of the service's pattern: by the hour in which the buffer began.
func (d *Delivery) key(at time.Time) string {
	d.number++
	at = at.UTC()
	return fmt.Sprintf("%s%s%s-%s-%06d", d.cfg.Prefix, at.Format("2006/01/02/15/"), d.cfg.Stream, at.Format("2006-01-02-15-04-05.000000000"), d.number)
}

func (d *Delivery) note(change func(*Status)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.status)
}

func (d *Delivery) failed(err error) { d.note(func(s *Status) { s.LastError = err.Error() }) }

// delayAfter is the wait before the next attempt: doubling from 100 ms to 5 s.
func delayAfter(attempt int) time.Duration {
	return min(100*time.Millisecond<<min(attempt, 10), 5*time.Second)
}

// wait answers false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
