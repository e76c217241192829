package claiming_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
	"sluice/tests/taskservice"
)

// signer makes signed URLs of a queue, good for a time from now on. told is what
// is added to the end that the service tells, for a clock that is off.
func (b *bench) signer(queues []string, good, told time.Duration) func() taskservice.PollURLs {
	b.t.Helper()
	parts := map[string]string{}
	for _, part := range strings.Split(b.Env("AZURE_STORAGE_CONNECTION_STRING"), ";") {
		name, value, _ := strings.Cut(part, "=")
		parts[name] = value
	}
	credential, err := azqueue.NewSharedKeyCredential(parts["AccountName"], parts["AccountKey"])
	require.NoError(b.t, err)
	return func() taskservice.PollURLs {
		end := time.Now().Add(good)
		urls := taskservice.PollURLs{Expires: end.Add(told).UTC()}
		for _, queue := range queues {
			signed, err := sas.QueueSignatureValues{
				Protocol: sas.ProtocolHTTPSandHTTP, StartTime: time.Now().Add(-15 * time.Minute).UTC(), ExpiryTime: end.UTC(),
				Permissions: (&sas.QueuePermissions{Process: true}).String(), QueueName: queue,
			}.SignWithSharedKey(credential)
			if err != nil {
				return taskservice.PollURLs{}
			}
			messages := strings.TrimRight(parts["QueueEndpoint"], "/") + "/" + queue + "/messages"
			urls.Queues = append(urls.Queues, taskservice.QueueURLs{
				SignedPollURL:   messages + "?visibilitytimeout=5&" + signed.Encode(),
				SignedDeleteURL: messages + "/{{messageId}}?popreceipt={{popReceipt}}&" + signed.Encode(),
			})
		}
		return urls
	}
}

// URLs of 30 s, whose renewal fails at first, with the service's clock off by
// five minutes and an early 403: claiming goes on, nothing is poisoned, and no
// signature is anywhere to be found.
func TestCaseA07SignedURLsRunOut(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": 5 * time.Minute, "behind": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			b, service := newBench(t), taskservice.Start(t)
			low := b.queue + "-low"
			b.NewAzureQueue(low)
			service.Set(20*time.Minute, skew, "")
			service.SignURLs(b.signer([]string{b.queue, low}, 12*time.Second, skew))
			service.Inject(taskservice.Fault{Operation: "poll-task-url", Status: 500, Count: 2})
			b.Guard.Inject(t, harness.Fault{Service: harness.AzQueue, Operation: "GetMessages", Target: b.queue, Count: 1, Status: 403, Code: "AuthenticationFailed"})
			worker := b.StartWorker("SLUICE_LOG_LEVEL=debug")
			b.put(b.queue, message(b.queue+"-1", 0, nap{}), "!!bad")
			b.put(low, message(b.queue+"-2", 0, nap{}))
			b.claim(map[string]any{"queues": nil, "signedUrls": map[string]string{
				"service": service.URL, "provisionerId": "prov", "workerType": "type"}})
			b.awaitStatus("claimed through it all", func(s status) bool { return s.Finished == 2 && s.Poisoned == 1 })
			first := service.Calls("poll-task-url")
			service.Inject(taskservice.Fault{Operation: "poll-task-url", Status: 500, Count: 2})
			harness.Await(t, "the URLs are renewed", func(context.Context) error {
				if n := service.Calls("poll-task-url"); n < first+3 {
					return fmt.Errorf("%d fetches", n)
				}
				return nil
			})
			b.put(b.queue, message(b.queue+"-3", 0, nap{}))
			s := b.awaitStatus("and on", func(s status) bool { return s.Finished == 3 })
			require.EqualValues(t, 1, s.Poisoned)
			b.awaitEmpty(b.queue)
			b.awaitEmpty(low)
			records, err := b.poisoned(t.Context(), b.queue+"-poison")
			require.NoError(t, err)
			require.Len(t, records, 1)

			history := b.Temporal("workflow", "show", "--workflow-id", b.id, "--output", "json").OK(t).Stdout
			shown := b.Temporal("workflow", "describe", "--workflow-id", b.id, "--output", "json").OK(t).Stdout
			for where, text := range map[string]string{"history": history, "heartbeat": shown, "log": worker.Logs()} {
				require.NotContains(t, text, "sig=", where)
				require.NotContains(t, text, "signedPollUrl", where)
			}
			b.Record(b.id, "ClaimTasks", "signed-urls")
		})
	}
}

// With signed URLs alone a message that nobody could decide about comes back by
// the URL's own time, and its delivery is excused all the same; poison is told to
// the service, to status, log and metric.
func TestSignedURLsWithoutCredentials(t *testing.T) {
	b, service := newBench(t), taskservice.Start(t)
	service.SignURLs(b.signer([]string{b.queue}, time.Hour, 0))
	good, often := b.queue+"-good", b.queue+"-often"
	service.Payload(good, nap{})
	b.put(b.queue, message(often, 0, nothing()))
	b.deliver(1)
	b.put(b.queue, message(good, 0, nothing()), "!!bad")
	service.Inject(taskservice.Fault{Operation: "claim", TaskID: good, Status: 503, Count: 2})
	worker := b.StartWorker("AZURE_STORAGE_CONNECTION_STRING=", "AZURE_STORAGE_QUEUE_URL=")
	in := withService(service, "3m")
	in["queues"], in["maxDequeueCount"], in["warnDequeueCount"] = nil, 2, 1
	in["signedUrls"] = map[string]string{"service": service.URL, "provisionerId": "prov", "workerType": "type"}
	b.claim(in)
	b.awaitRun(service, good, "completed", inState("completed", ""))
	b.awaitStatus("two poisoned, one ran, as many deliveries excused as make poison", func(s status) bool {
		return s.Poisoned == 2 && s.Finished == 1 && s.Excused >= 2
	})
	require.Equal(t, 1, service.Run(often, 0).Reports, "the service is told of what it can know")
	require.Zero(t, service.Run(often, 0).Claims)
	b.awaitEmpty(b.queue)
	require.Contains(t, worker.Logs(), "message is poison")
	requireMetrics(t, worker, "sluice_claim_poisoned")
	require.NotContains(t, worker.Logs(), "sig=")
	b.Record(b.id, "ClaimTasks", "signed-urls-without-credentials")
}
