package request

import (
	"errors"
	"strconv"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"sluice/internal/jobchain"
)

// activityIDs knows, by job, which ActivityIDs this run can't take again. The
// SDK frees the ID of an activity that was asked to stop only where the activity
// ended canceled; under any other end the same ID is an illegal command for as
// long as the run lasts. The next run has all its IDs.
//
// A job whose ID is spent is dispatched again as "<job>/<try>/<n>", n from 2. Its
// idempotency key stays "<job>/<try>".
type activityIDs map[int]spentIDs

// spentIDs are a job's IDs of one try. Those of earlier tries don't come back.
type spentIDs struct {
	number int // of the try
	count  int // "<job>/<try>" and, beyond 1, those up to "<job>/<try>/<count>"
}

// ended takes in how a try ended; it reports that its ActivityID is spent.
func (ids activityIDs) ended(t *try, err error) (spent bool) {
	if t.child != nil || !t.asked || err == nil || freesID(err) {
		return false
	}
	s := ids[t.job]
	if s.number != t.number {
		s = spentIDs{number: t.number}
	}
	s.count++
	ids[t.job] = s
	return true
}

// freesID tells the end of an activity as canceled from a failure by which a
// worker only says that something was canceled. The server gives the two unlike
// retry states once it knows of the cancel.
func freesID(err error) bool {
	var end *temporal.ActivityError
	if !errors.As(err, &end) {
		return false
	}
	_, canceled := end.Unwrap().(*temporal.CanceledError)
	return canceled && end.RetryState() == enumspb.RETRY_STATE_NON_RETRYABLE_FAILURE
}

// next is the ActivityID under which job i's try is dispatched now.
func (ids activityIDs) next(i, number int, key string) string {
	s := ids[i]
	if s.number != number {
		return key
	}
	return key + "/" + strconv.Itoa(s.count+1)
}

// missed reports that a job is to be repeated whose ID is spent, so that another
// run is worth its while when nothing is pending.
func (ids activityIDs) missed(chain *jobchain.Chain) bool {
	for i, s := range ids { // order does not matter: one is enough
		if chain.ToRepeat(i, s.number) {
			return true
		}
	}
	return false
}

// tryKey names a try within its request: the ActivityID of its first dispatch,
// and the idempotency key of all.
func tryKey(job string, number int) string { return job + "/" + strconv.Itoa(number) }

// TryOfActivity is the "<job>/<try>" that an ActivityID of a request's belongs to.
func TryOfActivity(activityID string) string {
	parts := strings.SplitN(activityID, "/", 3)
	return strings.Join(parts[:min(len(parts), 2)], "/")
}
