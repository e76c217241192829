package secrets_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"sluice/tests/harness"
)

// Secrets of the test, made of what encodings change.
const (
	awsSecret   = `wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE<&>KEY`
	awsToken    = `IQoJb3JpZ2luX2VjEOf/session+token/of<the&test>==`
	password    = `pass/word+of<the>deployer&1`
	bearer      = `b3arer/T0ken+of<the>news&2`
	opaque      = `opaque/key+of<the>rest&3`
	taskToken   = `task/service+T0ken<of>the&test4`
	codecToken  = `codec-server-token/of+the-test`
	keyMaterial = `0123456789abcdefKEYSthatENCRYPT!`
)

func TestNoSecretIsKeptOrToldAnywhere(t *testing.T) {
	data, service := t.TempDir(), newEcho(t)
	basic := base64.StdEncoding.EncodeToString([]byte("deployer:" + password))
	encryption := base64.StdEncoding.EncodeToString([]byte(keyMaterial))
	s := harness.Start(t, harness.Options{Own: true, Args: []string{"--no-ui", "--data", data}, Env: []string{
		"AWS_SECRET_ACCESS_KEY=" + awsSecret, "AWS_SESSION_TOKEN=" + awsToken,
	}})
	env := []string{
		"SLUICE_LOG_LEVEL=debug", "SLUICE_HTTP_ALLOW=" + service.URL, "SLUICE_TASK_SERVICE_URL=" + service.URL, "SLUICE_TASK_SERVICE_TOKEN=" + taskToken,
		"SLUICE_HTTP_AUTH_DEPLOY=Basic " + basic, "SLUICE_HTTP_AUTH_NEWS=Bearer " + bearer, "SLUICE_HTTP_AUTH_REST=" + opaque,
	}
	secrets := map[string]string{
		"the AWS secret key": awsSecret, "the AWS session token": awsToken, "the password": password, "the basic credentials": basic, "the bearer token": bearer,
		"the opaque header": opaque, "the task service's token": taskToken, "the Azure account key": accountKey(t, s), "the encryption key": encryption,
		"the key material": keyMaterial, "the codec server's token": codecToken,
	}
	tr := trace{}
	worker := s.StartWorker(env...)
	run := func(id, document string, args ...string) {
		r := s.StarterWith(document, append(args, "--id", id, "-f", "-", "--wait")...)
		tr.add("starter", r.Stdout+r.Stderr)
	}
	watch(t, s, tr, service.URL)
	claim(t, s, tr, service.URL)
	run("request/http", calls(service.URL), "request", "run")
	echoingAWS(t, s, run)
	encrypted(t, s, tr, env, encryption)
	awaitEnds(t, s)
	for _, header := range []string{"Basic " + basic, "Bearer " + bearer, opaque, "Bearer " + taskToken} {
		require.True(t, service.auth[header], "the services got and echoed %s", header)
	}

	for _, args := range [][]string{{"doctor"}, {"claim", "status", "secrets"}, {"quiescence", "status", "quiescence/secrets"}, {"request", "list"}, {"request", "status", "request/http"}, {"request", "log", "request/http"}, {"request", "export", "request/http"}, {"history", "export", "request/http"}} {
		r := s.Starter(args...)
		tr.add("starter "+strings.Join(args, " "), r.Stdout+r.Stderr)
	}
	metrics, err := worker.Scrape(t.Context())
	require.NoError(t, err)
	tr.add("metrics", metrics)
	require.Positive(t, tr.everything(t, s, data))
	require.Zero(t, worker.Stop(t))
	tr.add("log", worker.Logs())
	require.Contains(t, tr["history of request/http"], "[redacted]", "what was echoed was to be seen")
	require.Empty(t, tr.found(secrets))
	t.Logf("looked at %d places for %d secrets", len(tr), len(secrets))
}

// TestASecretInATraceIsFound guards the look itself.
func TestASecretInATraceIsFound(t *testing.T) {
	for name, encode := range encodings {
		tr := trace{}
		tr.add("history", `{"data": "`+base64.StdEncoding.EncodeToString([]byte(`{"x":"`+encode("Bearer "+bearer+"\r\n")+`"}`))+`"}`)
		require.NotEmpty(t, tr.found(map[string]string{"bearer": bearer}), name)
	}
}

func accountKey(t *testing.T, s *harness.Stack) string {
	t.Helper()
	_, rest, ok := strings.Cut(s.Env("AZURE_STORAGE_CONNECTION_STRING"), "AccountKey=")
	require.True(t, ok)
	key, _, _ := strings.Cut(rest, ";")
	return key
}

// calls is a request that has every credential echoed in every encoding, in answers,
// refusals and failures.
func calls(origin string) string {
	var jobs []map[string]any
	for _, auth := range []string{"deploy", "news", "rest"} {
		for _, encoding := range slices.Sorted(maps.Keys(encodings)) {
			for _, status := range []int{200, 403, 503} {
				id := fmt.Sprintf("%s-%s-%d", auth, encoding, status)
				jobs = append(jobs, map[string]any{"id": id, "activity": "HTTP.Call", "input": map[string]any{"url": fmt.Sprintf("%s/%d/%s/%s", origin, status, encoding, auth), "auth": auth}})
			}
		}
	}
	document, _ := json.Marshal(map[string]any{"jobs": jobs}) // of plain values
	return string(document)
}

// echoingAWS has AWS services say the secrets in their refusals, beside calls that work.
func echoingAWS(t *testing.T, s *harness.Stack, run func(id, document string, args ...string)) {
	t.Helper()
	table, stream, bucket, queue, azure := s.NewTable(harness.Table{}), s.NewStream(1), s.NewBucket(), s.NewQueue(nil), s.Name("tasks")
	s.NewAzureQueue(azure)
	key := "lines"
	_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("a\nb\n")})
	require.NoError(t, err)
	jobs := []string{
		`"activity":"DynamoDB.PutItem","input":{"TableName":"` + table + `","Item":{"id":{"S":"1"}}}`,
		`"activity":"Kinesis.PutRecords","input":{"StreamName":"` + stream + `","MaxAttempts":2,"Records":[{"Data":"YQ==","PartitionKey":"k"}]}`,
		`"activity":"Kinesis.PutObject","input":{"StreamName":"` + stream + `","MaxAttempts":2,"Object":{"bucket":"` + bucket + `","key":"lines"}}`,
		`"activity":"S3.List","input":{"bucket":"` + bucket + `"}`, `"activity":"SQS.Send","input":{"queueUrl":"` + queue + `","body":"x"}`,
		`"activity":"AzureQueue.Send","taskQueue":"` + s.TaskQueue + `-azure","input":{"queue":"` + azure + `","body":"x"}`,
	}
	document := func() string {
		var all []string
		for n, job := range jobs {
			all = append(all, fmt.Sprintf(`{"id":"j%d",%s}`, n, job))
		}
		return `{"jobs":[` + strings.Join(all, ",") + `]}`
	}
	run("request/aws", document(), "request", "run")
	said := "the token " + awsToken + " of " + awsSecret + " (" + base64.StdEncoding.EncodeToString([]byte("key="+awsSecret+";token="+awsToken)) + ") is not for this"
	for _, service := range []string{harness.DynamoDB, harness.Kinesis, harness.S3, harness.SQS} {
		s.Guard.Inject(t, harness.Fault{Service: service, Status: 400, Code: "ValidationException", Message: said})
	}
	s.Guard.Inject(t, harness.Fault{Service: harness.AzQueue, Operation: "PutMessage", Target: azure, Status: 403, Code: "AuthenticationFailed", Message: "signed with " + accountKey(t, s)})
	run("request/aws-refused", document(), "request", "run")
}

// watch has a quiescence tell a service that echoes.
func watch(t *testing.T, s *harness.Stack, tr trace, origin string) {
	t.Helper()
	started := s.StarterWith(`{"source":{"signal":{}},"then":[{"http":{"url":"`+origin+`/400/hex/then","auth":"deploy"}},{"http":{"url":"`+origin+`/503/base64b/then","auth":"news"}}]}`,
		"quiescence", "run", "--id", "quiescence/secrets", "-f", "-").OK(t)
	finished := s.Starter("quiescence", "finish", "quiescence/secrets").OK(t)
	tr.add("starter", started.Stdout+started.Stderr+finished.Stdout+finished.Stderr)
}

// claim has a claimer and a task deal with a task service that echoes its token.
func claim(t *testing.T, s *harness.Stack, tr trace, origin string) {
	t.Helper()
	queue := s.Name("claimed")
	s.NewAzureQueue(queue)
	started := s.StarterWith(`{"queues":[{"name":"`+queue+`"}],"interval":"1s","maxTasks":1,"claim":{"service":"`+origin+`","workerGroup":"g","workerId":"w"}}`,
		"claim", "run", "secrets", "-f", "-").OK(t)
	_, err := s.Queues.NewQueueClient(queue).EnqueueMessage(t.Context(), `{"taskId":"secretive","runId":0}`, nil)
	require.NoError(t, err)
	tr.add("starter", started.Stdout+started.Stderr)
}

// awaitEnds waits until what repeats is through.
func awaitEnds(t *testing.T, s *harness.Stack) {
	t.Helper()
	require.NoError(t, s.Client.GetWorkflow(t.Context(), "quiescence/secrets", "").Get(t.Context(), nil))
	harness.Await(t, "the task is reported", func(ctx context.Context) error {
		described, err := s.Client.DescribeWorkflow(ctx, "task/secretive/0", "")
		if err == nil && described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return errors.New("it runs")
		}
		return err
	})
}

// encrypted runs a worker with a key, and the server that decodes for people.
func encrypted(t *testing.T, s *harness.Stack, tr trace, env []string, key string) {
	t.Helper()
	env = append(slices.Clone(env), "SLUICE_ENCRYPTION_KEY=2026:"+key, "SLUICE_TASK_QUEUE="+s.TaskQueue+"-encrypted", "SLUICE_THROUGHPUT_SCOPE="+s.TaskQueue+"-encrypted")
	worker := s.StartWorker(env...)
	file := filepath.Join(t.TempDir(), "request.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"jobs":[{"id":"a","activity":"S3.List","input":{"bucket":"no-such-bucket"}}]}`), 0o600))
	r := s.Shell(t.TempDir(), `export SLUICE_ENCRYPTION_KEY=2026:`+key+` SLUICE_TASK_QUEUE=`+s.TaskQueue+`-encrypted
		starter request run --id request/encrypted -f `+file+` --wait || true; starter request status request/encrypted || true
		SLUICE_CODEC_TOKEN='`+codecToken+`' starter codec-server --address 127.0.0.1:0 >codec.log 2>&1 & server=$!
		until grep -q 'codec server on' codec.log; do sleep 0.05; done
		temporal workflow show --workflow-id request/encrypted --codec-endpoint "$(grep -o 'http://127.0.0.1:[0-9]*' codec.log | head -n 1)" --codec-auth 'Bearer `+codecToken+`' --output json
		kill $server; cat codec.log`).OK(t)
	require.Contains(t, r.Stdout, "S3.List")
	tr.add("starter", r.Stdout+r.Stderr)
	require.Zero(t, worker.Stop(t))
	tr.add("log of the one with a key", worker.Logs())
	for name, wrong := range map[string]string{
		"SLUICE_ENCRYPTION_KEY": key + "x", "AZURE_STORAGE_CONNECTION_STRING": "AccountKey=" + accountKey(t, s) + ";nonsense", "SLUICE_HTTP_ALLOW": "https://deployer:" + password + "@example.com",
	} {
		refused := s.LaunchWorker(name + "=" + wrong)
		<-refused.Done()
		tr.add("refusal of "+name, refused.Logs())
	}
}
