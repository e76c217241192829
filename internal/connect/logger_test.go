package connect

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"sluice/internal/secret"
)

// TestCancelsAreRoutine: what was cancelled as asked is nothing to warn of.
func TestCancelsAreRoutine(t *testing.T) {
	core, logged := observer.New(zapcore.DebugLevel)
	logger := TemporalLogger(zap.New(core))
	logger.Warn("RecordActivityHeartbeat with error", "Error", temporal.NewCanceledError())
	logger.Error("Activity error.", "Attempt", 1, "Error", temporal.NewCanceledError(7))
	logger.Warn("RecordActivityHeartbeat with error", "Error", errors.New("activity not found"))
	logger.Error("Activity error.", "Error", errors.New("broken"))
	var levels []zapcore.Level
	for _, entry := range logged.All() {
		levels = append(levels, entry.Level)
	}
	require.Equal(t, []zapcore.Level{zapcore.DebugLevel, zapcore.DebugLevel, zapcore.WarnLevel, zapcore.ErrorLevel}, levels)
}

// The SDK's line of an activity that came too late has its whole result with it, and
// an error may quote a secret: the log tells neither.
func TestTheLogTellsNeitherResultsNorSecrets(t *testing.T) {
	secret.Add("Bearer never-in-a-log")
	var out bytes.Buffer
	zapLogger, err := Logger(Config{LogLevel: "info", LogFormat: "json"}, &out)
	require.NoError(t, err)
	result := &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte("the user's own")}}}
	TemporalLogger(zapLogger).Info("Activity complete after timeout.", "Attempt", 1, "Result", result, "Error", errors.New("sent never-in-a-log"))
	require.Contains(t, out.String(), `"Attempt":1`)
	require.Contains(t, out.String(), "sent [redacted]")
	require.NotContains(t, out.String(), "Result")
	require.NotContains(t, out.String(), "user's own")
}
