package ingest_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// asleep is how long the machine sleeps: longer than any heartbeat timeout in every
// run of the tests, ten minutes by `make soak`.
func asleep(t *testing.T) time.Duration {
	text := os.Getenv("SLUICE_ASLEEP")
	if text == "" {
		return 45 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "SLUICE_ASLEEP")
	return d
}

// TestIngestOnAMachineThatSleeps has everything stand still amid an ingestion: the
// server, the services and the workers. All that was timed is over when they wake.
func TestIngestOnAMachineThatSleeps(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Own: true, Args: []string{"--demo", "--data", t.TempDir()}})
	s.Starter("setup").OK(t)
	prefix := fill(t, s)
	one, two := s.StartWorker(), s.StartWorker()
	const id = "ingest/asleep"
	start(t, s, id, prefix)
	harness.Await(t, "records are under way", func(context.Context) error {
		if s.Guard.Counters(t).Sum(harness.Kinesis, "PutRecords").Calls == 0 {
			return errors.New("none were put")
		}
		return nil
	})
	s.Asleep(asleep(t), one.Process, two.Process)
	result := await(t, s, id)
	require.Zero(t, result.Missing)
	require.EqualValues(t, objects*recordsEach, result.Delivered)
	require.EqualValues(t, objects, result.Tasks)
	requestsAreRight(t, s, result.Run)
}
