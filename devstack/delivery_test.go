package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"sluice/devstack/seed"
	"sluice/devstack/stack"
)

// objects reads a bucket whole, by key.
func (c *clients) objects(ctx context.Context, t *testing.T, bucket string) map[string]string {
	t.Helper()
	listed, err := c.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket})
	require.NoError(t, err)
	objects := map[string]string{}
	for _, o := range listed.Contents {
		got, err := c.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: o.Key})
		require.NoError(t, err)
		body, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		objects[*o.Key] = string(body)
	}
	return objects
}

func TestDelivery(t *testing.T) {
	c := connect(t)
	stream := c.stream(t, 2)
	bucket := stream
	var added struct{ Notifications string }
	c.admin(t, http.MethodPost, "/delivery", map[string]any{"stream": stream, "bucket": bucket, "prefix": "in/", "notifications": bucket,
		"bufferBytes": 5000, "bufferInterval": "300ms"}, &added)
	t.Cleanup(func() { c.admin(t, http.MethodDelete, "/delivery?stream="+stream, nil, nil) })

	put := func(first, n int) {
		var list []types.PutRecordsRequestEntry
		for i := range n {
			list = append(list, types.PutRecordsRequestEntry{PartitionKey: aws.String(fmt.Sprint(first + i)), Data: fmt.Appendf(nil, "record %06d\n", first+i)})
		}
		out, err := c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: list})
		require.NoError(t, err)
		require.Zero(t, *out.FailedRecordCount)
	}
	delivered := func(ctx context.Context, want int) error {
		seen := map[string]int{}
		for key, body := range c.objects(ctx, t, bucket) {
			require.Regexp(t, `^in/\d{4}/\d\d/\d\d/\d\d/`, key)
			for _, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
				seen[line]++
			}
		}
		for line, n := range seen {
			require.Equal(t, 1, n, line)
		}
		if len(seen) != want {
			return fmt.Errorf("%d of %d delivered", len(seen), want)
		}
		return nil
	}
	put(0, 500)
	eventually(t, func(ctx context.Context) error { return delivered(ctx, 500) })

	// New shards are found, and a bucket that refuses is asked again.
	_, err := c.kinesis.SplitShard(t.Context(), &kinesis.SplitShardInput{StreamName: &stream, ShardToSplit: aws.String("shardId-000000000000"), NewStartingHashKey: aws.String("85070591730234615865843651857942052864")})
	require.NoError(t, err)
	c.inject(t, `{"service":"s3","operation":"PutObject","target":"`+bucket+`","count":3,"status":503,"code":"SlowDown"}`)
	put(500, 500)
	eventually(t, func(ctx context.Context) error { return delivered(ctx, 1000) })

	eventually(t, func(ctx context.Context) error {
		out, err := c.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &added.Notifications, WaitTimeSeconds: 1})
		if err != nil {
			return err
		}
		for _, m := range out.Messages {
			if strings.Contains(*m.Body, `"ObjectCreated:Put"`) {
				return nil
			}
		}
		return errors.New("nothing announced")
	})
}

// against makes a command of this program with a stack's environment.
func (c *clients) against(args ...string) *exec.Cmd {
	cmd := program(args...)
	for variable, value := range c.env {
		cmd.Env = append(cmd.Env, variable+"="+value)
	}
	return cmd
}

func TestDeliveryAlone(t *testing.T) {
	c := connect(t)
	stream := c.stream(t, 1)
	put := func(line string) {
		_, err := c.kinesis.PutRecord(t.Context(), &kinesis.PutRecordInput{StreamName: &stream, PartitionKey: aws.String("k"), Data: []byte(line)})
		require.NoError(t, err)
	}
	checkpoints := t.TempDir()
	run := func(interval string) (stop func()) {
		cmd := c.against("delivery", "stream="+stream+",bucket="+stream+",interval="+interval, "--checkpoints", checkpoints)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		return func() {
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, cmd.Wait())
		}
	}
	all := func(ctx context.Context) string {
		objects := c.objects(ctx, t, stream)
		text := ""
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			text += objects[key]
		}
		return text
	}
	put("one\n")
	stop := run("100ms")
	eventually(t, func(ctx context.Context) error {
		if _, err := c.s3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &stream}); err != nil {
			return err
		}
		if got := all(ctx); got != "one\n" {
			return fmt.Errorf("delivered %q", got)
		}
		return nil
	})
	stop()

	// It goes on where it was, and a stop writes what is buffered.
	put("two\n")
	put("three\n")
	var before map[string]map[string]map[string]struct{ Calls int }
	c.admin(t, http.MethodGet, "/counters", nil, &before)
	stop = run("1h")
	eventually(t, func(context.Context) error {
		var now map[string]map[string]map[string]struct{ Calls int }
		c.admin(t, http.MethodGet, "/counters", nil, &now)
		if now["kinesis"]["GetRecords"][""].Calls < before["kinesis"]["GetRecords"][""].Calls+2 {
			return errors.New("not read")
		}
		return nil
	})
	stop()
	require.Equal(t, "one\ntwo\nthree\n", all(t.Context()))
}

func TestResourcesAreMadeOnce(t *testing.T) {
	c := connect(t)
	for range 2 {
		out, err := c.against("resources").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "SLUICE_DEMO_STREAM=sluice-demo\n")
	}
}

func TestSeedIsRealAndAlwaysTheSame(t *testing.T) {
	modules, err := stack.FindModules("")
	require.NoError(t, err)
	first, err := seed.Objects(modules, "20k")
	require.NoError(t, err)
	second, err := seed.Objects(modules, "20k")
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.GreaterOrEqual(t, len(first), 20)
	records := 0
	for _, o := range first {
		lines := strings.Split(strings.TrimSuffix(string(o.Body), "\n"), "\n")
		require.Len(t, lines, o.Records)
		for _, line := range lines {
			require.True(t, json.Valid([]byte(line)), line)
		}
		records += o.Records
	}
	require.GreaterOrEqual(t, records, 20_000)
	require.Equal(t, `{"date":"2001/01/01 00:47","delay":66,"distance":1750,"origin":"DTW","destination":"LAS"}`, strings.SplitN(string(first[0].Body), "\n", 2)[0])

	c := connect(t)
	out, err := c.against("seed", "--bucket", name(t), "--prefix", "p/").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), fmt.Sprintf("objects %d\nrecords %d\n", len(first), records))
}
