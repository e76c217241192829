package webui_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"sluice/tests/harness"
	"sluice/workflows"
)

// others makes a workflow of each kind that does not wait in vain itself, and returns
// their IDs by type.
func others(t *testing.T, s *harness.Stack) map[string]string {
	t.Helper()
	nobody, table, tasks := s.Name("nobody"), s.NewTable(harness.Table{}), s.Name("tasks")
	s.NewAzureQueue(tasks)
	_, err := s.Queues.NewQueueClient(tasks).EnqueueMessage(t.Context(),
		fmt.Sprintf(`{"taskId":"%s-1","payload":{"jobs":[{"id":"load","activity":"Load","taskQueue":%q}]}}`, tasks, nobody), nil)
	require.NoError(t, err)
	run(t, s, "claim", workflows.ClaimID(tasks), fmt.Sprintf(`{"queues":[{"name":%q}]}`, tasks))
	run(t, s, "request", "request/"+s.Name("put"), fmt.Sprintf(
		`{"jobs":[{"id":"put","activity":"DynamoDB.PutItem","input":{"TableName":%q,"Item":{"id":{"S":"x"}}}}]}`, table))
	sweep := "resume/" + s.Name("sweep")
	s.Starter("resumer", "once", "--id", sweep).OK(t)
	return map[string]string{
		workflows.TypeTask:            "task/" + tasks + "-1/0",
		workflows.TypeResumeSuspended: sweep,
		workflows.TypeThroughput:      listed(t, s, fmt.Sprintf("WorkflowType = 'Throughput' AND SluiceTarget = '%s'", table)),
	}
}

// listed is the ID of the first workflow that a query finds, once it finds any.
func listed(t *testing.T, s *harness.Stack, query string) (id string) {
	t.Helper()
	harness.Await(t, query+" finds one", func(ctx context.Context) error {
		found, err := s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		if err == nil && len(found.GetExecutions()) == 0 {
			err = errors.New("none")
		}
		if err == nil {
			id = found.GetExecutions()[0].GetExecution().GetWorkflowId()
		}
		return err
	})
	return id
}

// path is that of a tab of a workflow's page.
func path(t *testing.T, s *harness.Stack, id, tab string) string {
	t.Helper()
	described, err := s.Client.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err, id)
	return fmt.Sprintf("/namespaces/%s/workflows/%s/%s/%s", s.Env("TEMPORAL_NAMESPACE"), url.PathEscape(id),
		described.RawResponse.GetWorkflowExecutionInfo().GetExecution().GetRunId(), tab)
}

// picture is where the picture of that name goes: nowhere, unless SLUICE_PICTURES names
// a folder.
func picture(name string) string {
	dir := os.Getenv("SLUICE_PICTURES")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name+".png")
}

// Every kind of workflow has a page in the Web UI on which nothing is cut off, and on
// which a person sees what is waited for.
func TestPagesInAChromiumShowWhatIsWaitedForAndAreNotCut(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.SkipWithoutChromium()
	s.Starter("setup").OK(t)
	s.StartWorker()
	kinds := others(t, s)
	stuck := map[string]string{}
	for _, w := range troubles(t, s) {
		document := w.document
		if w.group == "request" {
			document = strings.Replace(document, `{"jobs":[`, `{"type":"nightly","jobs":[{"id":"transform","after":["load"],"activity":"SQS.Send"},`, 1)
		}
		run(t, s, w.group, w.id, document)
		if w.group == "producer" {
			s.StarterWith(`[{"Data":"eA==","PartitionKey":"k"}]`, "producer", "add", w.id, "-f", "-").OK(t)
		}
		stuck[w.group] = w.id
	}
	suspended := "request/" + s.Name("suspended")
	run(t, s, "request", suspended, fmt.Sprintf(`{"type":"nightly","jobs":[{"id":"load","activity":"Load","taskQueue":%q}]}`, s.Name("nobody")))
	s.Starter("request", "suspend", suspended, "--reason", "the source is late").OK(t)
	for _, id := range stuck {
		awaitListed(t, s, id, "SluiceTrouble IS NOT NULL")
	}
	awaitListed(t, s, suspended, "SluiceState = 'SUSPENDED'")

	list := "/namespaces/" + s.Env("TEMPORAL_NAMESPACE") + "/workflows?query="
	looks := []harness.Page{
		{Path: list + url.QueryEscape("SluiceTrouble IS NOT NULL AND ExecutionStatus = 'Running'"),
			Awaits: []string{stuck["request"], stuck["ingest"]}, Picture: picture("in-trouble")},
		{Path: list + url.QueryEscape("SluiceState = 'SUSPENDED' AND ExecutionStatus = 'Running'"), Awaits: []string{suspended}},
		{Path: path(t, s, stuck["request"], "history"), Awaits: []string{"job load, try 1", "retry of load"}},
		{Path: path(t, s, stuck["request"], "user-metadata"), Picture: picture("request"), Awaits: []string{
			"As of 20", "In trouble, Unavailable: job load: no worker on queue nobody-", "RUNNING — 0 of 2 jobs complete", "waits behind it", "transform"}},
		{Path: path(t, s, suspended, "user-metadata"), Awaits: []string{"SUSPENDED", "the source is late", "suspension expires"}, Picture: picture("suspended")},
		{Path: path(t, s, stuck["ingest"], "user-metadata"), Awaits: []string{"As of 20", "In trouble, Unavailable: ", "DISPATCH"}, Picture: picture("ingest")},
		{Path: path(t, s, stuck["claim"], "user-metadata"), Awaits: []string{"As of 20", "In trouble, NotFound: "}},
		{Path: path(t, s, stuck["quiescence"], "user-metadata"), Awaits: []string{"As of 20", "In trouble, NotFound: "}},
		{Path: path(t, s, stuck["producer"], "user-metadata"), Awaits: []string{"As of 20", "In trouble, NotFound: "}},
		{Path: path(t, s, stuck["count"], "user-metadata"), Awaits: []string{"As of 20", "In trouble, Unavailable: "}},
		{Path: path(t, s, kinds[workflows.TypeTask], "user-metadata"), Awaits: []string{"As of 20", "Running Request"}},
		{Path: path(t, s, kinds[workflows.TypeResumeSuspended], "user-metadata"), Awaits: []string{"As of 20"}},
		{Path: path(t, s, kinds[workflows.TypeThroughput], "user-metadata"), Awaits: []string{"As of 20", "units"}},
	}
	for i, seen := range s.Browse(looks...) {
		require.Empty(t, seen.Error, "%s waits for %q and has\n%s", seen.URL, looks[i].Awaits, seen.Text)
		require.Empty(t, seen.Cut, "%s cuts off what it says:\n%s", seen.URL, seen.Text)
		require.NotContains(t, seen.Text, "AwaitWithTimeout", seen.URL)
	}
}
