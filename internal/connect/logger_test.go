package connect

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
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
