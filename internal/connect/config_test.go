package connect

import (
	"bytes"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

func TestOwnersOfBudgetsRunOnTheQueueOfTheirScope(t *testing.T) {
	for want, c := range map[string]ThroughputConfig{
		"sluice-throughput":      {},
		"sluice-throughput-test": {Scope: "test"},
		"mine":                   {Scope: "test", TaskQueue: "mine"},
	} {
		require.Equal(t, want, c.Owners())
	}
}

func TestAzureQueuesNeedOneOfTwoKindsOfAccess(t *testing.T) {
	_, err := AzureQueues(AzureConfig{})
	require.ErrorIs(t, err, ErrNoAzure)
	require.ErrorContains(t, err, "AZURE_STORAGE_CONNECTION_STRING")
	require.ErrorContains(t, err, "AZURE_STORAGE_QUEUE_URL")

	key := base64.StdEncoding.EncodeToString([]byte("an account key"))
	client, err := AzureQueues(AzureConfig{ConnectionString: "DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=" + key +
		";QueueEndpoint=http://127.0.0.1:1/acc;", QueueURL: "http://127.0.0.1:2/other"})
	require.NoError(t, err)
	require.Contains(t, client.URL(), "127.0.0.1:1/acc", "the connection string goes first")
}

func TestABrokenConnectionStringIsRefusedWithoutTellingIt(t *testing.T) {
	for _, text := range []string{"never-told", "AccountName=acc;AccountKey=never-told", "AccountName;AccountKey=never-told", "AccountKey=never-told"} {
		_, err := AzureQueues(AzureConfig{ConnectionString: text})
		require.ErrorContains(t, err, "AZURE_STORAGE_CONNECTION_STRING", text)
		require.NotContains(t, err.Error(), "never-told")
	}
}

func TestLoggerRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, c := range []Config{{LogLevel: "loud", LogFormat: "json"}, {LogLevel: "info", LogFormat: "xml"}, {LogLevel: "info"}} {
		_, err := Logger(c, &bytes.Buffer{})
		require.Error(t, err, c)
	}
}

func TestLoggerKeepsToItsLevelAndKeepsFieldsThatStay(t *testing.T) {
	var out bytes.Buffer
	l, err := Logger(Config{LogLevel: "warn", LogFormat: "console"}, &out)
	require.NoError(t, err)
	logger := TemporalLogger(l)
	logger.Info("not told")
	logger.Debug("not told")
	sugared{l.Sugar()}.With("worker", "w-1").Warn("told", "n", 1)
	require.NotContains(t, out.String(), "not told")
	require.Contains(t, out.String(), "told")
	require.Contains(t, out.String(), `"worker": "w-1", "n": 1`)
}

// A failure's message and stack name tables and keys: they leave only in a payload,
// which the codec encrypts, and come back whole.
func TestFailuresAreToldInPayloadsOnly(t *testing.T) {
	failures := EncryptedFailures(converter.GetDefaultDataConverter())
	err := temporal.NewApplicationErrorWithCause("the table orders is gone", "NotFound", errors.New("the key 7 is gone"))
	failure := failures.ErrorToFailure(err)
	bare := proto.CloneOf(failure)
	for f := bare; f != nil; f = f.Cause {
		require.NotNil(t, f.EncodedAttributes)
		f.EncodedAttributes = &commonpb.Payload{}
	}
	require.NotContains(t, bare.String(), "orders")
	require.NotContains(t, bare.String(), "the key 7")
	var back *temporal.ApplicationError
	require.ErrorAs(t, failures.FailureToError(failure), &back)
	require.Equal(t, "NotFound", back.Type())
	require.Equal(t, "the table orders is gone", back.Message())
	require.ErrorContains(t, back.Unwrap(), "the key 7 is gone")
}
