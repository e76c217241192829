package programs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

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
