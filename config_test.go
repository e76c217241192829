package sluice

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// parse reads a configuration as main does.
func parse(t *testing.T, env map[string]string, args ...string) (Config, error) {
	for name, value := range env {
		t.Setenv(name, value)
	}
	var c Config
	k, err := kong.New(&c, kong.Exit(func(int) {}))
	require.NoError(t, err)
	_, err = k.Parse(args)
	return c, err
}

func TestConfigDefaults(t *testing.T) {
	c, err := parse(t, nil)
	require.NoError(t, err)
	require.Equal(t, "sluice", c.TaskQueue)
	require.Equal(t, "info", c.LogLevel)
	require.Equal(t, 30*time.Second, c.StopTimeout)
	require.False(t, c.SuspendOnStop)
	require.Empty(t, c.HTTPAllow)
	require.Equal(t, KinesisConfig{
		BatchSize: 500, RequestBytes: 5 << 20, RecordBytes: 1 << 20, FlushInterval: 100 * time.Millisecond,
		BufferBytes: 64 << 20, RequestTimeout: 6 * time.Second, Protocol: "json",
	}, c.Kinesis)
}

func TestConfigReadsEnvironmentAndFlags(t *testing.T) {
	c, err := parse(t, map[string]string{
		"SLUICE_TASK_QUEUE": "other", "SLUICE_HTTP_ALLOW": "https://a.example,http://b.example:8080", "SLUICE_SUSPEND_ON_STOP": "true",
		"SLUICE_KINESIS_FLUSH_INTERVAL": "0", "SLUICE_KINESIS_PROTOCOL": "cbor", "AZURE_STORAGE_QUEUE_URL": "https://a.queue.example",
	}, "--log-format=json")
	require.NoError(t, err)
	require.Equal(t, "other", c.TaskQueue)
	require.Equal(t, []string{"https://a.example", "http://b.example:8080"}, c.HTTPAllow)
	require.True(t, c.SuspendOnStop)
	require.Zero(t, c.Kinesis.FlushInterval)
	require.Equal(t, "cbor", c.Kinesis.Protocol)
	require.Equal(t, "json", c.LogFormat)
	require.Equal(t, "https://a.queue.example", c.Azure.QueueURL)
}

func TestConfigReportsAllFaultsAtOnce(t *testing.T) {
	_, err := parse(t, map[string]string{
		"SLUICE_KINESIS_BATCH_SIZE": "501", "SLUICE_KINESIS_FLUSH_INTERVAL": "1ms", "SLUICE_KINESIS_MAX_CONNECTIONS": "-1", "SLUICE_HTTP_ALLOW": "https://u:p@a.example",
		"SLUICE_DEPLOYMENT": "d", "SLUICE_ENCRYPTION_KEY": "short",
	})
	require.ErrorContains(t, err, "SLUICE_KINESIS_BATCH_SIZE: must be between 1 and 500, not 501")
	require.ErrorContains(t, err, "SLUICE_KINESIS_FLUSH_INTERVAL: must be 0 or at least 50ms, not 1ms")
	require.ErrorContains(t, err, "SLUICE_KINESIS_MAX_CONNECTIONS: must be at least 1, or 0 to follow the latency, not -1")
	require.ErrorContains(t, err, "SLUICE_HTTP_ALLOW")
	require.NotContains(t, err.Error(), "u:p", "a password in front of the host")
	require.ErrorContains(t, err, "SLUICE_DEPLOYMENT and SLUICE_BUILD_ID go together")
	require.ErrorContains(t, err, "SLUICE_ENCRYPTION_KEY: encryption key 1: 32 bytes in base64")
}

func TestConfigRefusesABufferThatWaitsForEver(t *testing.T) {
	_, err := parse(t, map[string]string{"SLUICE_KINESIS_FLUSH_INTERVAL": "0", "SLUICE_KINESIS_BUFFER_SIZE": "499"})
	require.ErrorContains(t, err, "would wait for ever")
}

func TestHTTPCredentials(t *testing.T) {
	got := httpCredentials([]string{"SLUICE_HTTP_AUTH_DEPLOY=Bearer x=y", "SLUICE_HTTP_AUTH_=z", "SLUICE_HTTP_ALLOW=a", "PATH=/bin"})
	require.Equal(t, map[string]string{"deploy": "Bearer x=y"}, got)
}

// The queue for what needs Azure is made of the worker's own: what the server would
// refuse of it, and what is somebody else's, is refused here.
func TestConfigRefusesTaskQueuesThatLeaveNoRoomForAzure(t *testing.T) {
	_, err := parse(t, map[string]string{"SLUICE_TASK_QUEUE": strings.Repeat("q", 995)})
	require.ErrorContains(t, err, "1001 bytes; at most 1000")
	_, err = parse(t, map[string]string{"SLUICE_TASK_QUEUE": "q", "SLUICE_THROUGHPUT_TASK_QUEUE": "q-azure"})
	require.ErrorContains(t, err, "another queue than q-azure")
}
