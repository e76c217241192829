package activities

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"sluice/internal/backoff"
)

// HistoryReader follows the history of one workflow run by long polls: it learns
// of an event within milliseconds, and costs no Action, no event and no query. One
// call waits at the server at a time, for twenty seconds where nothing happens.
type HistoryReader struct {
	service   workflowservice.WorkflowServiceClient
	namespace string
	execution *commonpb.WorkflowExecution
	next      []byte // from where the next call reads on; nil: from the first event
	failing   atomic.Bool
}

// OwnHistory reads the history of the workflow that an activity belongs to.
func OwnHistory(ctx context.Context, server client.Client) *HistoryReader {
	info := activity.GetInfo(ctx)
	return &HistoryReader{
		service:   server.WorkflowService(),
		namespace: info.Namespace,
		execution: &commonpb.WorkflowExecution{WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID},
	}
}

// From has the reader begin at a place where another reader of the run has ended,
// so that a long history is not read once more.
func (h *HistoryReader) From(place []byte) *HistoryReader {
	if len(place) > 0 {
		h.next = place
	}
	return h
}

// Place is from where another reader goes on, once Follow has returned.
func (h *HistoryReader) Place() []byte { return h.next }

// Failing says that the last call failed, so that what is followed may go on unheard.
func (h *HistoryReader) Failing() bool { return h.failing.Load() }

const (
	longPoll = 70 * time.Second // at most; the server answers sooner
	// pollPause is the least time from call to call near the end of a history, so
	// that one which grows fast is read in pages and not event by event.
	pollPause = 200 * time.Millisecond
	fullPage  = 100 // events of an answer after which more may be there already
)

// Follow hands on the events of the run in their order, first those that are there
// and then each soon after it is written, until heard returns false, which it
// answers with true. It answers false when ctx ends or the run has closed. Calls
// that fail are repeated for as long as it takes; no event is passed over, but one
// may come again.
func (h *HistoryReader) Follow(ctx context.Context, heard func([]*historypb.HistoryEvent) bool) bool {
	failures := 0
	for ctx.Err() == nil {
		began := time.Now()
		events, err := h.read(ctx)
		switch {
		case err == nil:
			failures = 0
			h.failing.Store(false)
			if !heard(events) {
				return true
			}
			if h.next == nil {
				return false
			}
			if len(events) < fullPage {
				_ = Sleep(ctx, pollPause-time.Since(began))
			}
		case IsNotFound(err):
			return false
		default:
			if isInvalid(err) {
				h.next = nil // the place is not known any more
			}
			failures++
			h.failing.Store(true)
			_ = Sleep(ctx, followAgain(err, failures))
		}
	}
	return false
}

// read makes one call.
func (h *HistoryReader) read(ctx context.Context) ([]*historypb.HistoryEvent, error) {
	ctx, cancel := context.WithTimeout(ctx, longPoll)
	defer cancel()
	answer, err := h.service.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: h.namespace, Execution: h.execution, NextPageToken: h.next,
		WaitNewEvent: true, SkipArchival: true, HistoryEventFilterType: enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT,
	})
	if err != nil {
		return nil, err
	}
	events := answer.GetHistory().GetEvents()
	for _, blob := range answer.GetRawHistory() { // how some servers answer
		var batch historypb.History
		if err := proto.Unmarshal(blob.GetData(), &batch); err != nil {
			return nil, err
		}
		events = append(events, batch.GetEvents()...)
	}
	h.next = answer.GetNextPageToken()
	if len(h.next) == 0 {
		h.next = nil
	}
	return events, nil
}

func isInvalid(err error) bool {
	var invalid *serviceerror.InvalidArgument
	return errors.As(err, &invalid)
}

// followAgain is the wait after so many failures in a row. A server that has too
// many long polls gets a longer rest: what is followed is told otherwise too.
func followAgain(err error, failures int) time.Duration {
	policy := backoff.Policy{Base: time.Second, Cap: 30 * time.Second}
	var exhausted *serviceerror.ResourceExhausted
	if errors.As(err, &exhausted) {
		policy = backoff.Policy{Base: 10 * time.Second, Cap: 2 * time.Minute}
	}
	return policy.Ceiling(failures)/2 + policy.Delay(failures, rand.Float64())/2
}

// IsNotFound reports that the server knows nothing of what was asked for.
func IsNotFound(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}
