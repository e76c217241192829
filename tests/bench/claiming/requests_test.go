package claiming_test

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
)

// rounds is how often bare and claimed requests take turns.
const rounds = 3

// compareRequests measures tasks whose work is a Request of one job, in turns with
// such requests that nobody claims.
func (f *field) compareRequests(result *figures, n int) {
	f.t.Helper()
	f.bareRequests("warm", n/4)
	var bare, claimed time.Duration
	for round := range rounds {
		bare += f.bareRequests(fmt.Sprintf("bare%d", round), n)
		claimed += f.claimedRequests(fmt.Sprintf("claimed%d", round), n)
	}
	result.BareRequestsPerSecond = float64(rounds*n) / bare.Seconds()
	result.RequestsPerSecond = float64(rounds*n) / claimed.Seconds()
	result.OfBareRequest = result.RequestsPerSecond / result.BareRequestsPerSecond
	f.t.Logf("bare %.1f requests/s, claimed %.1f requests/s: ratio %.2f",
		result.BareRequestsPerSecond, result.RequestsPerSecond, result.OfBareRequest)
}

// request is the document of a request of one job that does nothing.
func (f *field) request(label string) string {
	return fmt.Sprintf(`{"type":%q,"jobs":[{"id":"only","activity":"Nothing","taskQueue":%q}]}`, label, f.work)
}

// bareRequests runs n requests and returns how long they take.
func (f *field) bareRequests(name string, n int) time.Duration {
	f.t.Helper()
	label := f.Name(name)
	began := time.Now()
	f.each(n, 32, func(i int) error {
		_, err := f.Client.ExecuteWorkflow(f.t.Context(), client.StartWorkflowOptions{
			ID: fmt.Sprintf("%s-%d", label, i), TaskQueue: f.TaskQueue,
		}, "Request", json.RawMessage(f.request(label)))
		return err
	})
	f.awaitCompleted(fmt.Sprintf("WorkflowType = 'Request' AND SluiceType = '%s'", label), n)
	return time.Since(began)
}

// claimedRequests claims n tasks whose work is such a request and returns how long
// they take.
func (f *field) claimedRequests(name string, n int) time.Duration {
	f.t.Helper()
	queue := f.Name(name)
	f.enqueue(queue, n, 0, f.request(queue))
	began := time.Now()
	f.startClaimer(queue, map[string]string{"workflow": "Request"})
	f.awaitEnds(queue, n)
	took := time.Since(began)
	f.endClaimer(queue, n)
	return took
}
