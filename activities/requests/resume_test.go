package requests

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/wire"
)

// suspended is a server with one request that can be resumed.
func suspended() *server {
	return &server{
		described: onQueue("own"), pollers: map[string]time.Duration{"own": 0, "jobs": time.Minute},
		status:  []string{`{"state":"SUSPENDED","totalJobs":2,"jobs":[{"taskQueue":"jobs","state":"WAIT"},{"taskQueue":"gone","state":"COMPLETE"}]}`},
		answers: map[string]string{wire.UpdateClaim: `{"claimed":true,"token":7}`}, updateErrs: map[string]error{},
	}
}

func resume(t *testing.T, s *server) wire.Resumed {
	t.Helper()
	became, err := call(t, wire.ResumeRequest, (&Activities{Temporal: s}).Resume, wire.ResumeInput{ID: "w", Holder: "me", Lease: duration.Duration(time.Minute)})
	require.NoError(t, err, "what becomes of a request is told, not failed with")
	return became
}

func TestARequestIsClaimedThenResumedUnderTheClaim(t *testing.T) {
	s := suspended()
	require.Equal(t, wire.Resumed{Resumed: true}, resume(t, s))
	require.Equal(t, []string{`claim {"holder":"me","lease":"1m","token":0}`, `resume {"holder":"me","token":7}`}, s.updates)
}

// A request takes only so many updates: where it is known beforehand that it can't be
// resumed, none is sent.
func TestARequestThatCannotBeResumedIsNotClaimed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*server)
		want   wire.Resumed
	}{
		"not suspended any more":     {func(s *server) { s.status = []string{`{"state":"RUN"}`} }, wire.Resumed{Skipped: true}},
		"claimed by another":         {func(s *server) { s.status = []string{`{"state":"SUSPENDED","claim":{"holder":"you"}}`} }, wire.Resumed{Skipped: true, Holder: "you"}},
		"nobody polls its own queue": {func(s *server) { delete(s.pollers, "own") }, wire.Resumed{Error: "no worker polls queue own"}},
		"nobody polls its jobs'":     {func(s *server) { delete(s.pollers, "jobs") }, wire.Resumed{Error: "no worker polls queue jobs"}},
		"its worker died":            {func(s *server) { s.pollers["jobs"] = 2 * time.Minute }, wire.Resumed{Error: "no worker polls queue jobs"}},
		"it is gone":                 {func(s *server) { s.describeErr = errors.New("no workflow w, sig=secret") }, wire.Resumed{Error: "no workflow w, sig=[redacted]"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := suspended()
			c.change(s)
			require.Equal(t, c.want, resume(t, s))
			require.Empty(t, s.updates)
		})
	}
}

func TestAClaimThatAnotherHolderHasIsSkipped(t *testing.T) {
	s := suspended()
	s.answers[wire.UpdateClaim] = `{"claimed":false,"holder":"you","token":3}`
	require.Equal(t, wire.Resumed{Skipped: true, Holder: "you"}, resume(t, s))
	require.Len(t, s.updates, 1)
}

func TestAClaimIsGivenBackWhereTheResumeFails(t *testing.T) {
	s := suspended()
	s.updateErrs[wire.UpdateResume] = errors.New("no answer")
	require.Equal(t, wire.Resumed{Error: "no answer"}, resume(t, s))
	require.Equal(t, `unclaim {"holder":"me","token":7}`, s.updates[len(s.updates)-1])
}

func TestARefusedClaimIsJudgedByWhatTheRequestIsNow(t *testing.T) {
	for _, kind := range []string{activities.TypeConflict, activities.TypeExpired} {
		for state, want := range map[string]wire.Resumed{
			"RUN": {Skipped: true}, "EXPIRED": {Skipped: true}, "SUSPENDED": {Error: "it takes no more (type: " + kind + ", retryable: false)"},
		} {
			s := suspended()
			s.status = append(s.status, `{"state":"`+state+`"}`)
			s.updateErrs[wire.UpdateClaim] = activities.Fail(kind, activities.Failure{Message: "it takes no more"})
			require.Equal(t, want, resume(t, s), "%s, then %s", kind, state)
			require.Len(t, s.updates, 1, "there is no claim to give back")
		}
	}
}

// The queues of all jobs are looked at, page by page, each once.
func TestAllPagesOfARequestsJobsAreLookedAt(t *testing.T) {
	page := func(n int, queue string) string {
		job := `{"taskQueue":"` + queue + `","state":"WAIT"}`
		return `{"state":"SUSPENDED","totalJobs":1500,"jobs":[` + strings.Repeat(job+",", n-1) + job + `]}`
	}
	s := suspended()
	s.status = []string{page(1000, "jobs"), page(500, "elsewhere")}
	require.Equal(t, wire.Resumed{Error: "no worker polls queue elsewhere"}, resume(t, s))
	require.Equal(t, []int{0, 1000}, s.offsets)
}

func listed(parent, id string) *workflowpb.WorkflowExecutionInfo {
	e := &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id}}
	if parent != "" {
		e.ParentExecution = &commonpb.WorkflowExecution{WorkflowId: parent}
	}
	return e
}

func TestAJobOfARequestIsKnownByParentAndID(t *testing.T) {
	for _, c := range []struct {
		parent, id string
		is         bool
	}{
		{"", "r/job/1", false},
		{"r", "r/job/1", true},
		{"r", "r/job", false},
		{"r", "r/a/b/1", false},
		{"r", "other/job/1", false},
		{"task/t/0", "task/t/0/run", false},
	} {
		require.Equal(t, c.is, IsJobOfRequest(listed(c.parent, c.id)), "%s of %s", c.id, c.parent)
	}
}

func list(t *testing.T, s *server, in wire.ListSuspendedInput) (wire.Suspended, error) {
	t.Helper()
	return call(t, wire.ListSuspended, (&Activities{Temporal: s}).ListSuspended, in)
}

func TestSuspendedRequestsOfAllPagesAreListedButJobsOfOthers(t *testing.T) {
	s := &server{pages: []*workflowservice.ListWorkflowExecutionsResponse{
		{Executions: []*workflowpb.WorkflowExecutionInfo{listed("", "a"), listed("r", "r/job/1")}, NextPageToken: []byte("2")},
		{Executions: []*workflowpb.WorkflowExecutionInfo{listed("task/t/0", "task/t/0/run"), listed("", "b")}},
	}}
	found, err := list(t, s, wire.ListSuspendedInput{Filter: `SluiceType = "x" OR SluiceType = "y"`})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a", "b", "task/t/0/run"}, found.IDs)
	require.Zero(t, found.Left)
	require.Equal(t, []byte("2"), s.listed[1].GetNextPageToken())
	require.True(t, strings.HasSuffix(s.listed[0].GetQuery(), ` AND (SluiceType = "x" OR SluiceType = "y")`), "an OR does not get past the rest")
	require.Contains(t, s.listed[0].GetQuery(), `ExecutionStatus = "Running"`)
}

func TestAListKeepsToItsLimitAndToWhatASweepCanCarry(t *testing.T) {
	page := &workflowservice.ListWorkflowExecutionsResponse{}
	for n := range 2_000 {
		page.Executions = append(page.Executions, listed("", fmt.Sprintf("%s-%d", strings.Repeat("<", 500), n)))
	}
	s := &server{pages: []*workflowservice.ListWorkflowExecutionsResponse{page, page}}
	found, err := list(t, s, wire.ListSuspendedInput{Limit: 10})
	require.NoError(t, err)
	require.Len(t, found.IDs, 10)
	require.Zero(t, found.Left, "a limit leaves nothing for the next sweep")
	found, err = list(t, s, wire.ListSuspendedInput{})
	require.NoError(t, err)
	require.Equal(t, 2_000, len(found.IDs)+found.Left)
	require.Positive(t, found.Left)
	require.Less(t, len(found.IDs)*500*6, maxSuspended, "as JSON has it, where < takes six bytes")

	found, err = list(t, &server{pages: []*workflowservice.ListWorkflowExecutionsResponse{{}}}, wire.ListSuspendedInput{})
	require.NoError(t, err)
	require.NotNil(t, found.IDs)
}

func TestAFilterThatTheServerRefusesIsInvalidInput(t *testing.T) {
	_, err := list(t, &server{listErr: serviceerror.NewInvalidArgument("invalid query: x")}, wire.ListSuspendedInput{Filter: "x ="})
	require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err))
	_, err = list(t, &server{listErr: serviceerror.NewUnavailable("away")}, wire.ListSuspendedInput{})
	require.Equal(t, activities.TypeUnavailable, activities.TypeOf(err))
}
