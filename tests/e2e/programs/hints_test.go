package programs_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

func TestValidateFindsWhatWillFailWithItsLine(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	r := s.StarterWith("type: x\njobs:\n- id: a\n  activity: S3.List\n  input: {bucket: {$from: args.bucket}}\n",
		"request", "validate", "-f", "-").Exits(t, 1)
	var told struct{ Faults, Warnings []string }
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &told))
	require.Equal(t, []string{`jobs[0].input.bucket.$from: "args.bucket": it is not in args (line 5)`}, told.Faults)
	require.Len(t, told.Warnings, 1)
	require.Contains(t, told.Warnings[0], "jobs[0].heartbeat: none")
	require.Contains(t, told.Warnings[0], "(line 3)")
}

func TestASuspensionSaysFirstWhenItExpires(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	id := s.Name("request")
	s.StarterWith(`{"jobs":[{"id":"a","activity":"x","taskQueue":"`+s.Name("nobody")+`"}]}`, "request", "run", "--id", id, "-f", "-").OK(t)
	r := s.Starter("request", "suspend", id, "--grace", "1s").OK(t)
	require.Contains(t, r.Stderr, id+" expires at ")
	require.Contains(t, r.Stderr, "--ttl")
	require.True(t, strings.HasPrefix(r.Stdout, "{\n  \"notice\": \"expires at "), r.Stdout)
	waitsFor, _ := status(t, s, "request", "status", id)
	require.Contains(t, waitsFor[0], "being resumed, until ")
}

func TestACompletedRequestIsStartedAgainOnlyWhenTold(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	id, document := s.Name("request"), `{"jobs":[{"id":"look","activity":"S3.List","heartbeat":"15s","input":{"bucket":"`+s.NewBucket()+`"}}]}`
	s.StarterWith(document, "request", "run", "--id", id, "-f", "-", "--wait").OK(t)
	refused := s.StarterWith(document, "request", "run", "--id", id, "-f", "-").Exits(t, 1)
	require.Contains(t, refused.Stderr, id+" has completed")
	require.Contains(t, refused.Stderr, "--again")
	s.StarterWith(document, "request", "run", "--id", id, "-f", "-", "--again", "--wait").OK(t)
}

func TestWhatIsMissingIsToldWithItsMend(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	began := time.Now()
	nowhere := harness.Start(t, harness.Options{Env: []string{"TEMPORAL_ADDRESS=127.0.0.1:1"}})
	require.Contains(t, nowhere.Starter("request", "status", "x").Exits(t, 1).Stderr, "TEMPORAL_ADDRESS")
	require.Less(t, time.Since(began), time.Minute)

	absent := harness.Start(t, harness.Options{Env: []string{"TEMPORAL_NAMESPACE=absent"}})
	for _, args := range [][]string{{"request", "status", "x"}, {"request", "list"}, {"quiescence", "run", "--bucket", "b"}} {
		require.Contains(t, absent.Starter(args...).Exits(t, 1).Stderr, "temporal operator namespace create --namespace absent", args)
	}

	queue := s.Name("azure")
	r := s.Starter("claim", "enqueue", queue, "--task-id", "a").Exits(t, 1)
	require.Contains(t, r.Stderr, "NotFound")
	require.Contains(t, r.Stderr, "--create")
	s.Starter("claim", "enqueue", queue, "--task-id", "a", "--create").OK(t)
}
