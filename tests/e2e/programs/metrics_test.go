package programs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
	"sluice/workflows"
)

// promtool is Debian's, from the package prometheus; .ci/run puts it into .bin.
func promtool(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"promtool", filepath.Join(harness.Root(), ".bin", "promtool")} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no promtool: `make promtool` takes it from Debian's package prometheus, which needs apt-get and a package server")
	return ""
}

// load gives a worker something of everything to count.
func load(t *testing.T, s *harness.Stack) {
	t.Helper()
	bucket, stream := s.NewBucket(), s.NewStream(1)
	table := s.NewTable(harness.Table{Read: 20, Write: 20})
	run := func(code int, jobs string) {
		s.StarterWith(`{"suspendTTL":"1h","jobs":[`+jobs+`]}`, "request", "run", "-f", "-", "--wait").Exits(t, code)
	}
	run(0, `{"id":"records","activity":"Kinesis.PutRecords","input":{"StreamName":"`+stream+`","Records":[{"PartitionKey":"k","Data":"eA=="}]}},
		{"id":"item","activity":"DynamoDB.PutItem","input":{"TableName":"`+table+`","Item":{"id":{"S":"x"}}}}`)
	run(1, `{"id":"look","activity":"S3.List","input":{"bucket":"`+bucket+`-none"}}`)
	waiting := s.Name("waiting")
	s.StarterWith(`{"suspendTTL":"1h","jobs":[{"id":"look","activity":"S3.List","taskQueue":"`+s.TaskQueue+`-none","input":{"bucket":"`+bucket+`"}}]}`,
		"request", "run", "--id", waiting, "-f", "-").OK(t)
	s.Starter("request", "suspend", waiting).OK(t)
	s.Starter("producer", "run", stream).OK(t)
	s.Starter("producer", "add", stream, "--data", "x", "--partition-key", "k").OK(t)

	queue := s.Name("tasks")
	s.NewAzureQueue(queue)
	s.Starter("claim", "enqueue", queue, "--task-id", queue+"-1", "--payload", `{"jobs":[{"id":"look","activity":"S3.List","input":{"bucket":"`+bucket+`"}}]}`).OK(t)
	_, err := s.Queues.NewQueueClient(queue).EnqueueMessage(t.Context(), "!!bad", nil)
	require.NoError(t, err)
	s.Starter("claim", "run", "--queue", queue).OK(t)

	events, watch := s.NewQueue(nil), "quiescence/"+s.Name("watch")
	for _, body := range []string{"!!bad", `{"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k","sequencer":"01"}}}]}`} {
		_, err := s.SQS.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &events, MessageBody: &body})
		require.NoError(t, err)
	}
	counter := workflows.CountID(events)
	s.StarterWith(`{"queueUrl":"`+events+`","table":"`+table+`"}`, "count", "run", "-f", "-").OK(t)
	for _, source := range []string{table, s.Name("missing")} {
		s.StarterWith(`{"source":{"dynamodb":{"table":"`+source+`","key":{"id":{"S":"x"}}}},"delay":{"base":"1s"},"deadline":"1m"}`,
			"quiescence", "run", "--id", watch+source, "-f", "-").OK(t)
	}
	// Nobody delivers what it puts on the stream, so it ends by its deadline.
	own := s.Name("own")
	s.NewAzureQueue(own)
	_, err = s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("in/object"), Body: strings.NewReader("{}\n")})
	require.NoError(t, err)
	s.StarterWith(`{"bucket":"`+bucket+`","prefix":"in/","deadline":"10s","queue":"`+own+`","stream":"`+stream+`","table":"`+table+`",
		"delivery":{"bucket":"`+bucket+`","prefix":"delivered/","notifications":"`+s.NewQueue(nil)+`"}}`, "ingest", "run", "-f", "-").OK(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // the test's own is over
		defer cancel()
		_ = s.Client.TerminateWorkflow(ctx, "claim/"+queue, "", "test is over")
		_ = s.Client.TerminateWorkflow(ctx, "producer/"+stream, "", "test is over")
		_ = s.Client.TerminateWorkflow(ctx, waiting, "", "test is over")
		_ = s.Client.TerminateWorkflow(ctx, counter, "", "test is over")
	})
}

// dashboardMetrics are the names in the expressions of ops/grafana.json.
func dashboardMetrics(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(harness.Root(), "ops", "grafana.json"))
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &dashboard))
	names := map[string]bool{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found := regexp.MustCompile(`\b(?:sluice|temporal|process|go)_[a-z_]+`).FindAllString(target.Expr, -1)
			require.NotEmpty(t, found, panel.Title)
			for _, name := range found {
				names[name] = true
			}
		}
	}
	require.NotEmpty(t, names)
	return slices.Sorted(maps.Keys(names))
}

// Histograms counted in steps of 5 s, counters were gauges, nothing had a HELP text, and
// nothing was told of requests, producers, the process and the build.
func TestMetricsAreAsPrometheusHasThem(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	w := s.StartWorker()
	load(t, s)
	wants := []string{
		`sluice_workflow_states_total{[^}]*state="SUSPENDED"[^}]*workflow_type="Request"`, `sluice_workflow_states_total{[^}]*state="FAIL"`,
		`sluice_producer_buffered{[^}]*stream="`, `sluice_requests_suspended{namespace="[^"]+"} [1-9]`,
	}
	for _, name := range dashboardMetrics(t) {
		wants = append(wants, `(?m)^`+name+`[{ ]`)
	}
	var text string
	harness.Await(t, "what was done is told", func(ctx context.Context) (err error) {
		if text, err = w.Scrape(ctx); err != nil {
			return err
		}
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(text) {
				return fmt.Errorf("no %s", want)
			}
		}
		return nil
	})
	for _, want := range []string{
		"# TYPE temporal_request_total counter", "# TYPE temporal_request_latency_seconds histogram", "# TYPE process_cpu_seconds_total counter",
		"# TYPE go_goroutines gauge", "sluice_worker_build_info{", `service_name="sluice-worker"`,
		`temporal_request_latency_seconds_bucket{[^}]*le="0.001"`, `temporal_request_latency_seconds_bucket{[^}]*le="60"`,
	} {
		require.Regexp(t, want, text)
	}
	require.NotRegexp(t, `le="(5000|10000)"`, text)

	t.Run("promtool", func(t *testing.T) {
		check := exec.Command(promtool(t), "check", "metrics")
		check.Stdin = strings.NewReader(text)
		told, err := check.CombinedOutput()
		require.NoError(t, err, string(told))
		require.Empty(t, string(told))
	})
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		check := exec.Command(promtool(t), args...)
		check.Dir = filepath.Join(harness.Root(), "ops")
		told, err := check.CombinedOutput()
		require.NoError(t, err, string(told))
	}
}
