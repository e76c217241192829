package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// pollTaken is how long a poll has to last until Temporal has taken it: one that it
// refuses, or can't be reached by, fails sooner.
const pollTaken = time.Second

// polls knows how the polls of this process do, by task queue and kind. A poll that
// works may last a minute before it says so.
type polls struct {
	now func() time.Time

	mu     sync.Mutex
	queues map[polledQueue]*pollState
}

// polledQueue is a task queue with what is polled there.
type polledQueue struct{ taskQueue, kind string }

func (q polledQueue) compare(other polledQueue) int {
	return cmp.Or(cmp.Compare(q.taskQueue, other.taskQueue), cmp.Compare(q.kind, other.kind))
}

type pollState struct {
	succeeded, failed time.Time
	err               error
	underWay          map[int]time.Time // when each began
	next              int
}

func newPolls() *polls { return &polls{now: time.Now, queues: map[polledQueue]*pollState{}} }

// intercept watches the calls of a client that are polls.
func (p *polls) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	queue, ok := queueOf(request)
	if !ok {
		return invoke(ctx, method, request, reply, conn, options...)
	}
	ended := p.begin(queue)
	err := invoke(ctx, method, request, reply, conn, options...)
	if ctx.Err() != nil { // ended by this process
		ended(nil)
	} else {
		ended(err)
	}
	return err
}

func queueOf(request any) (polledQueue, bool) {
	switch r := request.(type) {
	case *workflowservice.PollWorkflowTaskQueueRequest:
		return polledQueue{cmp.Or(r.GetTaskQueue().GetNormalName(), r.GetTaskQueue().GetName()), "workflow"}, true
	case *workflowservice.PollActivityTaskQueueRequest:
		return polledQueue{r.GetTaskQueue().GetName(), "activity"}, true
	default:
		return polledQueue{}, false
	}
}

// begin enters a poll; ended tells how it did.
func (p *polls) begin(queue polledQueue) (ended func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.queues[queue]
	if s == nil {
		s = &pollState{underWay: map[int]time.Time{}}
		p.queues[queue] = s
	}
	s.next++
	number := s.next
	s.underWay[number] = p.now()
	return func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(s.underWay, number)
		if err != nil {
			s.failed, s.err = p.now(), err
		} else {
			s.succeeded = p.now()
		}
	}
}

// check is one for each queue and kind, in order.
func (p *polls) check() []check {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []check
	for _, queue := range slices.SortedFunc(maps.Keys(p.queues), polledQueue.compare) {
		c := check{Name: "polls", TaskQueue: queue.taskQueue, Kind: queue.kind, OK: true}
		if s := p.queues[queue]; !s.works(p.now()) {
			c.OK, c.Error = false, fmt.Sprintf("since %s: %v", s.failed.UTC().Format(time.RFC3339), s.err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		all = append(all, check{Name: "polls", Error: "not begun"})
	}
	return all
}

// works reports that the last poll failed none: it succeeded, or one that began since
// goes on.
func (s *pollState) works(now time.Time) bool {
	if s.err == nil || s.succeeded.After(s.failed) {
		return true
	}
	for _, began := range s.underWay {
		if !began.Before(s.failed) && now.Sub(began) >= pollTaken {
			return true
		}
	}
	return false
}
