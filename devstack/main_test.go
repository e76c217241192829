package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"
)

// The test binary is the program too, so tests run what is compiled here.
const asProgram = "DEVSTACK_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	code := m.Run()
	if shared.stack != nil {
		shared.stack.stop()
		if errs := shared.stack.errs.String(); strings.Contains(errs, "DATA RACE") {
			fmt.Fprintln(os.Stderr, errs)
			code = 1
		}
		_ = os.RemoveAll(filepath.Dir(shared.stack.ready.EnvFile))
	}
	os.Exit(code)
}

// running is a stack of a test.
type running struct {
	cmd   *exec.Cmd
	ready ready
	done  chan struct{}
	errs  strings.Builder
}

// program makes a command of this program.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func launch(args ...string) (*running, error) {
	r := &running{cmd: program(append([]string{"up"}, args...)...), done: make(chan struct{})}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.cmd.Stderr = &r.errs
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { _ = r.cmd.Wait(); close(r.done) }()
	if err != nil {
		<-r.done
		return nil, fmt.Errorf("%w: %s", err, &r.errs)
	}
	return r, json.Unmarshal([]byte(line), &r.ready)
}

func (r *running) stop() {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	<-r.done
}

// start runs a stack for one test.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	r, err := launch(append([]string{"--no-ui", "--no-demo"}, args...)...)
	require.NoError(t, err)
	t.Cleanup(r.stop)
	return r
}

var shared struct {
	once  sync.Once
	stack *running
	err   error
}

// clients of the stack that most tests share: a DynamoDB burst of one second,
// and no client that repeats anything.
type clients struct {
	env      map[string]string
	dynamodb *dynamodb.Client
	kinesis  *kinesis.Client
	s3       *s3.Client
	sqs      *sqs.Client
	queues   *azqueue.ServiceClient
}

func connect(t *testing.T) *clients {
	t.Helper()
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "devstack-test-")
		require.NoError(t, err)
		shared.stack, shared.err = launch("--no-ui", "--no-demo", "--burst", "1s", "--state", dir)
	})
	require.NoError(t, shared.err)
	return connectTo(t, shared.stack.ready.Env)
}

func connectTo(t *testing.T, env map[string]string) *clients {
	t.Helper()
	config := aws.Config{
		Region:      env["AWS_REGION"],
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:  awshttp.NewBuildableClient(),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
	}
	endpoint := func(name string) *string { return aws.String(env["AWS_ENDPOINT_URL_"+name]) }
	queues, err := azqueue.NewServiceClientFromConnectionString(env["AZURE_STORAGE_CONNECTION_STRING"], nil)
	require.NoError(t, err)
	return &clients{
		env:      env,
		dynamodb: dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.BaseEndpoint = endpoint("DYNAMODB") }),
		kinesis:  kinesis.NewFromConfig(config, func(o *kinesis.Options) { o.BaseEndpoint = endpoint("KINESIS") }),
		s3:       s3.NewFromConfig(config, func(o *s3.Options) { o.BaseEndpoint = endpoint("S3"); o.UsePathStyle = true }),
		sqs:      sqs.NewFromConfig(config, func(o *sqs.Options) { o.BaseEndpoint = endpoint("SQS") }),
		queues:   queues,
	}
}

// eventually polls until check answers nil.
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// name is good for anything and unique to the test.
func name(t *testing.T) string {
	short := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	return fmt.Sprintf("%s-%d", short[max(0, len(short)-40):], time.Now().UnixNano()%1_000_000)
}
