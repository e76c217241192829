package programs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

type diagnosis struct {
	Checks []struct {
		Name, Target, Detail, Error string
		OK                          bool
	}
	Trouble []struct{ ID, LastError string }
}

// of is what was found of a thing.
func (d diagnosis) of(t *testing.T, name, target string) (ok bool, words string) {
	t.Helper()
	for _, c := range d.Checks {
		if c.Name == name && (c.Target == target || target == "") {
			return c.OK, c.Detail + c.Error
		}
	}
	t.Fatalf("no check of %s %s in %+v", name, target, d.Checks)
	return false, ""
}

func diagnose(t *testing.T, r harness.Result) (d diagnosis) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &d), r.Stderr)
	return d
}

func TestTheDoctorLooksThroughAWorker(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	nobody := diagnose(t, s.Starter("doctor").Exits(t, 1))
	ok, words := nobody.of(t, "task queue", s.TaskQueue)
	require.False(t, ok)
	require.Contains(t, words, "no worker polls it")

	s.StartWorker()
	table, stream, bucket, queue, azure := s.NewTable(harness.Table{}), s.NewStream(1), s.NewBucket(), s.NewQueue(nil), s.Name("azure")
	s.NewAzureQueue(azure)
	args := []string{"doctor", "--table", table, "--stream", stream, "--bucket", bucket, "--queue-url", queue, "--azure-queue", azure}
	var well diagnosis
	harness.Await(t, "all is well", func(context.Context) error {
		r := s.Starter(args...) // the pollers are seen after a moment
		if r.Code != 0 {
			return errors.New(r.Stderr)
		}
		well = diagnose(t, r)
		return nil
	})
	for name, target := range map[string]string{"temporal": "", "namespace": "default", "search attributes": "", "aws credentials": "",
		"table": table, "stream": stream, "bucket": bucket, "sqs queue": queue, "azure queue": azure, "task queue": s.TaskQueue + "-azure"} {
		ok, words := well.of(t, name, target)
		require.True(t, ok, words)
		require.NotEmpty(t, words, name)
	}

	absent := s.Name("absent")
	r := s.Starter("doctor", "--table", absent, "--azure-queue", absent).Exits(t, 1)
	for _, name := range []string{"table", "azure queue"} {
		ok, words = diagnose(t, r).of(t, name, absent)
		require.False(t, ok)
		require.Contains(t, words, "NotFound")
		require.Contains(t, r.Stderr, name+" "+absent+": NotFound")
	}
}

func TestTheDoctorLooksAtWhatAWorkflowNames(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	absent, id := s.Name("absent"), s.Name("quiescence")
	s.Starter("quiescence", "run", "--table", absent, "--counter", "b", "--delay", "1s", "--id", id).OK(t)
	harness.Await(t, "the reason", func(context.Context) error {
		r := s.Starter("doctor", id).Exits(t, 1)
		d := diagnose(t, r)
		if ok, _ := d.of(t, "workflow", id); ok {
			return errors.New("all is well, it says")
		}
		ok, words := d.of(t, "table", absent)
		require.False(t, ok)
		require.Contains(t, words, "NotFound")
		return nil
	})
}

func TestTheDoctorListsWhatIsInTrouble(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	nobody, id := s.Name("nobody"), s.Name("request")
	s.Starter("throughput", "pause", "--all").OK(t)
	s.StarterWith(`{"jobs":[{"id":"a","activity":"DynamoDB.ListTables","input":{}},{"id":"b","activity":"x","taskQueue":"`+nobody+`"}]}`, "request", "run", "--id", id, "-f", "-").OK(t)
	harness.Await(t, "it is listed", func(context.Context) error {
		for _, one := range diagnose(t, s.Starter("doctor", "--limit", "500")).Trouble {
			if one.ID == id {
				require.Contains(t, one.LastError, "is paused")
				return nil
			}
		}
		return errors.New("not yet")
	})
}

func TestTheDoctorOfANamespaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{"TEMPORAL_NAMESPACE=absent"}})
	ok, words := diagnose(t, s.Starter("doctor").Exits(t, 1)).of(t, "namespace", "absent")
	require.False(t, ok)
	require.Contains(t, words, "temporal operator namespace create --namespace absent")
}
