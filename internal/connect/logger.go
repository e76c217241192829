package connect

import (
	"errors"
	"fmt"
	"io"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sluice/internal/errortype"
	"sluice/internal/secret"
)

// Logger makes the program's logger in the level and format of the
// configuration, writing to w.
func Logger(c Config, w io.Writer) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(c.LogLevel)
	if err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	var encoder zapcore.Encoder
	switch c.LogFormat {
	case "json":
		config := zap.NewProductionEncoderConfig()
		config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		encoder = zapcore.NewJSONEncoder(config)
	case "console":
		config := zap.NewDevelopmentEncoderConfig()
		config.EncodeTime = zapcore.ISO8601TimeEncoder
		encoder = zapcore.NewConsoleEncoder(config)
	default:
		return nil, fmt.Errorf("log format %q: console or json", c.LogFormat)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(secret.Writer(w))), level)), nil
}

// TemporalLogger is l as the Temporal SDK takes it.
func TemporalLogger(l *zap.Logger) log.Logger {
	return sugared{l.WithOptions(zap.AddCallerSkip(1)).Sugar()}
}

type sugared struct{ *zap.SugaredLogger }

func (s sugared) Debug(msg string, keyvals ...any) { s.Debugw(msg, withoutResults(keyvals)...) }
func (s sugared) Info(msg string, keyvals ...any)  { s.Infow(msg, withoutResults(keyvals)...) }
func (s sugared) Warn(msg string, keyvals ...any) {
	s.routine(s.Warnw, keyvals)(msg, withoutResults(keyvals)...)
}
func (s sugared) Error(msg string, keyvals ...any) {
	s.routine(s.Errorw, keyvals)(msg, withoutResults(keyvals)...)
}

// withoutResults leaves payloads out: the SDK tells the whole result of an activity
// that came too late, which is of any size and the user's own.
func withoutResults(keyvals []any) []any {
	for i := 0; i+1 < len(keyvals); i += 2 {
		switch keyvals[i+1].(type) {
		case *commonpb.Payloads, *commonpb.Payload:
			return append(slices.Clone(keyvals[:i]), withoutResults(keyvals[i+2:])...)
		}
	}
	return keyvals
}

// routine is Debugw in the place of log for what tells only that something was
// cancelled, as it was asked to be: the SDK warns of every heartbeat whose answer
// says so, and calls the end of such an activity an error.
// What an activity fails with by a type of its own is an answer to whoever called
// it, and no error of the worker; that a service is busy is to be expected.
func (s sugared) routine(log func(string, ...any), keyvals []any) func(string, ...any) {
	for _, v := range keyvals {
		err, ok := v.(error)
		if !ok {
			continue
		}
		if temporal.IsCanceledError(err) {
			return s.Debugw
		}
		var failure *temporal.ApplicationError
		if !errors.As(err, &failure) {
			continue
		}
		switch kind := failure.Type(); {
		case kind == errortype.Throttled || kind == errortype.WorkerStopping:
			return s.Infow
		case errortype.Retryable(kind) || errortype.Final(kind):
			return s.Warnw
		}
	}
	return log
}

// With gives the SDK its own lines with fields that stay.
func (s sugared) With(keyvals ...any) log.Logger {
	return sugared{s.SugaredLogger.With(keyvals...)}
}
