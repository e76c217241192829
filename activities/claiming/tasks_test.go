package claiming

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/activities/taskservice"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// asked is what a task service was asked, and answers with one status.
type asked struct {
	paths  []string
	bodies []string
	ref    wire.TaskRef
	env    *testsuite.TestActivityEnvironment
}

func askService(t *testing.T, status int, body string) *asked {
	t.Helper()
	a := &asked{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&got) // some have none
		a.paths, a.bodies = append(a.paths, r.Method+" "+r.URL.Path), append(a.bodies, string(got))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	var suite testsuite.WorkflowTestSuite
	a.env = suite.NewTestActivityEnvironment()
	activities.Register(a.env, NewTasks(nil, &taskservice.Client{HTTP: server.Client()}))
	a.ref = wire.TaskRef{Service: server.URL, TaskID: "a", RunID: 2}
	return a
}

// A definite refusal ends the claim; anything else is asked again.
func TestAnswersToARenewal(t *testing.T) {
	until := time.Now().Add(20 * time.Minute).UTC().Truncate(time.Second)
	good := `{"takenUntil":"` + until.Format(time.RFC3339) + `"}`
	for name, c := range map[string]struct {
		status   int
		body     string
		fails    string
		leaseEnd time.Time
	}{
		"renewed":        {200, good, "", until},
		"unreadable":     {200, `{"takenUntil":`, activities.TypeUnavailable, time.Time{}},
		"without an end": {200, `{}`, activities.TypeUnavailable, time.Time{}},
		"conflict":       {409, ``, activities.TypeConflict, time.Time{}},
		"gone":           {404, ``, activities.TypeConflict, time.Time{}},
		"not allowed":    {403, ``, activities.TypeUnavailable, time.Time{}},
		"too many":       {429, ``, activities.TypeUnavailable, time.Time{}},
		"out of order":   {503, ``, activities.TypeUnavailable, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			a := askService(t, c.status, c.body)
			value, err := a.env.ExecuteActivity(wire.TaskReclaim.Name, a.ref)
			require.Equal(t, []string{"POST /task/a/runs/2/reclaim"}, a.paths)
			require.Equal(t, c.fails, activities.TypeOf(err))
			if c.fails != "" {
				require.ErrorContains(t, err, "task/a/2")
				return
			}
			var lease taskclaim.Lease
			require.NoError(t, value.Get(&lease))
			require.WithinDuration(t, c.leaseEnd, lease.TakenUntil, 2*time.Second)
		})
	}
}

// An outcome is reported until it is answered; a run that is resolved already is done.
func TestAnswersToAnOutcome(t *testing.T) {
	for status, fails := range map[int]string{200: "", 409: "", 401: activities.TypeUnavailable, 429: activities.TypeUnavailable, 500: activities.TypeUnavailable} {
		a := askService(t, status, "{}")
		_, err := a.env.ExecuteActivity(wire.TaskResolve.Name, wire.ResolveInput{TaskRef: a.ref,
			Outcome: wire.Outcome{State: wire.OutcomeException, Reason: wire.ReasonClaimExpired}})
		require.Equal(t, fails, activities.TypeOf(err), status)
		require.Equal(t, []string{"POST /task/a/runs/2/exception"}, a.paths)
		require.JSONEq(t, `{"reason":"claim-expired"}`, a.bodies[0])
	}
}
