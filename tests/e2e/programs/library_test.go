package programs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice"
	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
)

// on are the options of a workflow on the test's own task queue.
func on(s *harness.Stack) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{TaskQueue: s.TaskQueue}
}

// A program of one's own starts a request by its typed document, asks it, sends it
// messages, and takes its typed result.
func TestAProgramOfOnesOwnSpeaksToWorkflowsByTypes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	ctx, id, bucket := t.Context(), s.Name("typed"), s.NewBucket()
	held := s.Name("held") // a queue without workers: the second job can't begin
	run, err := sluice.Request.Start(ctx, s.Client, id, workflows.RequestInput{
		Args: map[string]string{"bucket": bucket},
		Jobs: []workflows.Job{
			{ID: "list", Activity: workflows.ListObjects.Name, Input: map[string]any{"bucket": workflows.From("args.bucket")}},
			{ID: "held", Activity: workflows.DynamoDB("ListTables").Name, TaskQueue: held, After: []string{"list"}, Heartbeat: "5s"},
		},
	}, on(s))
	require.NoError(t, err)
	harness.Await(t, "the first job is done", func(ctx context.Context) error {
		status, err := sluice.RequestStatus.Ask(ctx, s.Client, id, workflows.Page{})
		if err == nil && status.FinishedJobs < 1 {
			return errors.New("not yet")
		}
		return err
	})
	status, err := sluice.Suspend.Send(ctx, s.Client, id, workflows.SuspendMessage{Reason: "deploy", TTL: "2h", Wait: "0s"})
	require.NoError(t, err)
	require.Equal(t, jobchain.Suspended, status.State)
	claim, err := sluice.Claim.Send(ctx, s.Client, id, workflows.ClaimMessage{Holder: "me"})
	require.NoError(t, err)
	require.True(t, claim.Claimed)
	_, err = sluice.Resume.Send(ctx, s.Client, id, workflows.ResumeMessage{Holder: "me", Token: claim.Token})
	require.NoError(t, err)
	log, err := sluice.RequestLog.Ask(ctx, s.Client, id, workflows.LogPage{Job: "list"})
	require.NoError(t, err)
	require.Len(t, log, 1)
	exported, err := sluice.ExportRequest.Ask(ctx, s.Client, id, workflows.None{})
	require.NoError(t, err)
	require.Contains(t, string(exported), `"finished"`)
	_, err = sluice.StopRequest.Send(ctx, s.Client, id, workflows.StopMessage{Grace: "0s"})
	require.NoError(t, err)
	result, err := run.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, jobchain.Stopped, result.State)
	require.JSONEq(t, `{"objects":[],"truncated":false}`, string(result.Jobs["list"]))
}

// A watch of signals is started, told and awaited by types.
func TestAProgramOfOnesOwnWatchesByTypes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	ctx, id := t.Context(), s.Name("typed-watch")
	_, err := sluice.Quiescence.Start(ctx, s.Client, id, workflows.QuiescenceInput{
		Source: workflows.Source{Signal: &workflows.None{}}, Repeats: workflows.Ptr(1), Delay: workflows.Delay{Base: "1s"},
	}, on(s))
	require.NoError(t, err)
	require.NoError(t, sluice.Observed.Send(ctx, s.Client, id, workflows.ObservedMessage{Count: workflows.Ptr[int64](3)}))
	result, err := sluice.Quiescence.Of(ctx, s.Client, id).Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "quiet", result.Reason)
	require.EqualValues(t, 3, result.Count)
}

// oneself is a workflow of somebody else's that calls activities of ours.
func oneself(ctx workflow.Context, queue, bucket string) (workflows.ListedObjects, error) {
	options := activities.CallOptions()
	options.TaskQueue = queue
	return workflows.ListObjects.Execute(workflow.WithActivityOptions(ctx, options), workflows.ListObjectsInput{Bucket: bucket, Prefix: "in/"}).Output(ctx)
}

func TestAWorkflowOfOnesOwnCallsActivitiesByTypes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	bucket := s.NewBucket()
	_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("in/a")})
	require.NoError(t, err)
	queue := s.Name("own")
	own := worker.New(s.Client, queue, worker.Options{})
	own.RegisterWorkflow(oneself)
	require.NoError(t, own.Start())
	t.Cleanup(own.Stop)
	run, err := s.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue}, oneself, s.TaskQueue, bucket)
	require.NoError(t, err)
	var listed workflows.ListedObjects
	require.NoError(t, run.Get(t.Context(), &listed))
	require.Len(t, listed.Objects, 1)
	require.Equal(t, "in/a", listed.Objects[0].Key)
}

// connected are the clients of a program of one's own, configured by the environment.
func connected(t *testing.T, s *harness.Stack) (sluice.Config, *sluice.Clients) {
	t.Helper()
	for _, name := range []string{
		"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3",
		"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_KINESIS", "AWS_ENDPOINT_URL_SQS", "AZURE_STORAGE_CONNECTION_STRING",
	} {
		t.Setenv(name, s.Env(name))
	}
	t.Setenv("SLUICE_TASK_QUEUE", s.TaskQueue)
	t.Setenv("SLUICE_THROUGHPUT_SCOPE", s.TaskQueue)
	config, err := sluice.LoadConfig()
	require.NoError(t, err)
	clients, err := sluice.Connect(t.Context(), config, sluice.Hooks{})
	require.NoError(t, err)
	t.Cleanup(clients.Temporal.Close)
	return config, clients
}

// A program of one's own is a worker of everything in Sluice, with an activity of its
// own beside it; told to stop, it ends.
func TestAWorkerOfOnesOwnRunsEverythingAndMore(t *testing.T) {
	s := harness.Start(t)
	config, clients := connected(t, s)
	require.NoError(t, clients.CheckSetup(t.Context()))
	w := sluice.NewWorker(config, clients, sluice.Hooks{})
	shout := func(_ context.Context, words string) (string, error) { return words + "!", nil }
	w.RegisterActivityWithOptions(shout, activity.RegisterOptions{Name: "Shout"})
	stop, ended := make(chan any), make(chan error, 1)
	go func() { ended <- w.Run(t.Context(), stop) }()

	run, err := sluice.Request.Start(t.Context(), s.Client, s.Name("own-worker"), workflows.RequestInput{
		Args: map[string]string{"name": "world"},
		Jobs: []workflows.Job{
			{ID: "greet", Activity: "Shout", Input: workflows.From("args.name"), Heartbeat: "10s"},
			{ID: "list", Activity: workflows.ListObjects.Name, Input: workflows.ListObjectsInput{Bucket: s.NewBucket()}},
		},
	}, on(s))
	require.NoError(t, err)
	result, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, jobchain.Complete, result.State)
	require.JSONEq(t, `"world!"`, string(result.Jobs["greet"]))
	close(stop)
	require.NoError(t, <-ended)
}
