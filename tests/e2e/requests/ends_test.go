package requests_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"sluice/internal/jobchain"
	"sluice/tests/jobs/testjobs"
	"sluice/workflows"
	"sluice/workflows/request"
)

// fate is what becomes of a try that ended in one of the ways.
type fate int

const (
	completes fate = iota // COMPLETE
	fails                 // FAIL, and is never dispatched again
	freed                 // repeated under its number; Temporal takes its activity ID again
	spent                 // repeated under its number; the run can't take its ID again
)

// tryEnd is a way in which a try ends.
type tryEnd struct {
	name           string
	job            string // fields of the job
	input          string // fields of the job's input
	asked, unasked fate
}

var tryEnds = []tryEnd{
	{"success", `"heartbeat":"5s"`, `"ends":"success"`, completes, completes},
	{"canceled", `"heartbeat":"5s"`, `"ends":"canceled"`, freed, fails},
	{"ctx.Err", `"heartbeat":"5s"`, `"ends":"plain"`, freed, completes},
	{"own timeout", `"heartbeat":"5s","timeout":"10s"`, `"ends":"timeout"`, spent, fails},
	{"heartbeat timeout", `"heartbeat":"2s"`, `"ends":"silent"`, spent, freed},
	{"any error", `"heartbeat":"5s"`, `"ends":"error","type":"Theirs"`, spent, fails},
	{"any final error", `"heartbeat":"5s"`, `"ends":"error","type":"Theirs","final":true`, spent, fails},
	{"Ambiguous", `"heartbeat":"5s"`, `"ends":"error","type":"Ambiguous"`, fails, fails},
	{"WorkerStopping", `"heartbeat":"5s"`, `"ends":"error","type":"WorkerStopping"`, spent, freed},
	{"Throttled", `"heartbeat":"5s"`, `"ends":"error","type":"Throttled"`, spent, freed},
	{"Unavailable", `"heartbeat":"5s"`, `"ends":"error","type":"Unavailable"`, spent, freed},
	{"InvalidInput", `"heartbeat":"5s"`, `"ends":"error","type":"InvalidInput"`, spent, fails},
	{"ConditionFailed", `"heartbeat":"5s"`, `"ends":"error","type":"ConditionFailed"`, spent, fails},
	{"Conflict", `"heartbeat":"5s"`, `"ends":"error","type":"Conflict"`, spent, fails},
	{"NotFound", `"heartbeat":"5s"`, `"ends":"error","type":"NotFound"`, spent, fails},
	{"AccessDenied", `"heartbeat":"5s"`, `"ends":"error","type":"AccessDenied"`, spent, fails},
	{"TooLarge", `"heartbeat":"5s"`, `"ends":"error","type":"TooLarge"`, spent, fails},
}

// situation is when a try ends, and what else the request is about then.
type situation string

const (
	notAsked situation = "not asked to stop"
	alone    situation = "asked, alone"                       // nothing is pending when it has ended
	beside   situation = "asked, beside one that goes on"     // which outlives the grace
	resumed  situation = "asked, ends after the resume"       // beside one that goes on
	inChild  situation = "asked, as a job of a child request" // alone there
)

// endCase is one request of the matrix.
type endCase struct {
	tryEnd
	when     situation
	bySignal bool // suspend and resume come as signals, else as updates
}

func (c endCase) String() string {
	how := "by update"
	if c.bySignal {
		how = "by signal"
	}
	return fmt.Sprintf("%s, %s, %s", c.name, c.when, how)
}

func endCases() (cases []endCase) {
	for _, end := range tryEnds {
		cases = append(cases, endCase{end, notAsked, false})
		for _, when := range []situation{alone, beside, resumed, inChild} {
			cases = append(cases, endCase{end, when, false}, endCase{end, when, true})
		}
	}
	return cases
}

// TestEveryEndOfATryIsResumedExactly plays every way in which a try can end,
// asked to stop or not, by update and by signal, with workers that keep workflows
// in their cache and with ones that replay each workflow task. A try that was
// asked to stop and ended neither canceled nor in success has an activity ID that
// its run can't take again.
func TestEveryEndOfATryIsResumedExactly(t *testing.T) {
	withAndWithoutCache(t, func(t *testing.T, b *bench) {
		ctx := b.patient()
		var plays errgroup.Group
		plays.SetLimit(24)
		cases := endCases()
		played, errs := make([]*endPlay, len(cases)), make([]error, len(cases))
		for i, c := range cases {
			played[i] = &endPlay{bench: b, endCase: c, id: fmt.Sprintf("request/%s-%d", b.Name("r"), i)}
			plays.Go(func() error {
				if err := played[i].play(ctx); err != nil {
					errs[i] = fmt.Errorf("%s: %w", c, err)
				}
				return nil
			})
		}
		_ = plays.Wait()
		require.NoError(t, errors.Join(errs...))
		for _, p := range played {
			if scenario, ok := recordedEnds[p.String()]; ok {
				b.Record(p.id, workflows.TypeRequest, scenario, p.firstRun)
			}
		}
	})
}

// recordedEnds are the cases whose first run is a scenario of the replay tests.
var recordedEnds = map[string]string{
	"any error, asked, alone, by update":                      "failed-as-asked-to-stop-alone",
	"any error, asked, beside one that goes on, by signal":    "failed-as-asked-to-stop-beside-another",
	"own timeout, asked, ends after the resume, by update":    "timed-out-after-the-resume",
	"Ambiguous, asked, beside one that goes on, by update":    "ambiguous-while-suspended",
	"Conflict, asked, as a job of a child request, by signal": "child-request-whose-job-failed-as-asked-to-stop",
}

// endPlay plays a case.
type endPlay struct {
	*bench
	endCase
	id       string
	firstRun string
}

// owner is the request whose job ends in the way that is tried.
func (p *endPlay) owner() string {
	if p.when == inChild {
		return p.id + "/sub/1"
	}
	return p.id
}

func (p *endPlay) document() string {
	held := p.when == resumed
	job := fmt.Sprintf(`{"id":"a","activity":"Test.Job",%s,"input":{%s,"asked":%v,"held":%v}}`, p.job, p.input, p.when != notAsked, held)
	other := `{"id":"b","activity":"Test.Job","heartbeat":"5s","input":{"ends":"success","held":true}}`
	switch p.when {
	case inChild:
		return `{"jobs":[{"id":"sub","workflow":"Request","input":{"jobs":[` + job + `]}}]}`
	case beside, resumed:
		return `{"jobs":[` + job + `,` + other + `]}`
	default:
		return `{"jobs":[` + job + `]}`
	}
}

func (p *endPlay) play(ctx context.Context) error {
	run, err := p.c.ExecuteWorkflow(ctx, startOptions(p.id, p.TaskQueue), workflows.TypeRequest, json.RawMessage(p.document()))
	if err != nil {
		return err
	}
	p.firstRun = run.GetRunID()
	if p.when != notAsked {
		if err := p.suspendAndResume(ctx); err != nil {
			return err
		}
	}
	var result request.Result
	return p.check(ctx, &result, run.Get(ctx, &result))
}

// suspendAndResume has the try end as a suspension asks it to, or after the
// resume.
func (p *endPlay) suspendAndResume(ctx context.Context) error {
	goesOn := p.when == beside || p.when == resumed
	grace := `{"grace":"60s","wait":"0s"}`
	if goesOn {
		grace = `{"grace":"200ms","wait":"0s"}`
	}
	began := func() bool {
		return p.jobs.Dispatches(p.owner(), "a/1") == 1 && (!goesOn || p.jobs.Dispatches(p.id, "b/1") == 1)
	}
	if err := until(ctx, "its jobs run", began); err != nil {
		return err
	}
	if err := p.tell(ctx, "suspend", grace); err != nil {
		return err
	}
	if p.when != resumed {
		if err := p.awaitStatus(ctx, p.owner(), "a has ended", hasEnded); err != nil {
			return err
		}
	} else if err := p.awaitStatus(ctx, p.id, "the grace is over", func(s *request.Status) bool { return s.State == jobchain.Suspended && s.Stopping == 0 }); err != nil {
		return err
	}
	if over := p.asked == completes || p.asked == fails; !over || goesOn {
		if err := p.tell(ctx, "resume", `{}`); err != nil {
			return err
		}
	}
	if !goesOn {
		return nil
	}
	if p.when == resumed {
		if err := p.awaitStatus(ctx, p.id, "resumed", func(s *request.Status) bool { return s.State == jobchain.Running }); err != nil {
			return err
		}
		p.jobs.Release(p.id, "a/1")
	}
	if err := p.awaitStatus(ctx, p.id, "a is done", isDone); err != nil {
		return err
	}
	p.jobs.Release(p.id, "b/1")
	return nil
}

func hasEnded(s *request.Status) bool { return s.Jobs[0].State != jobchain.Running }

func isDone(s *request.Status) bool {
	return s.Jobs[0].State == jobchain.Complete || s.Jobs[0].State == jobchain.Fail
}

// check compares the request's end with the fate that is due.
func (p *endPlay) check(ctx context.Context, result *request.Result, err error) error {
	due, dispatches := p.asked, 1
	if p.when == notAsked {
		due = p.unasked
	}
	if due == freed || due == spent {
		dispatches = 2
	}
	if n := p.jobs.Dispatches(p.owner(), "a/1"); n != dispatches {
		return fmt.Errorf("%d dispatches instead of %d (%w)", n, dispatches, errors.Join(err))
	}
	if due == fails {
		if err == nil || !strings.Contains(err.Error(), "RequestFailed") {
			return fmt.Errorf("ended with %w, not as failed", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	output, err := p.output(ctx, result)
	if err != nil {
		return err
	}
	activityID, sameRun := "a/1", true
	if due == spent {
		if sameRun = p.when == beside || p.when == resumed; sameRun {
			activityID = "a/1/2"
		}
	}
	switch {
	case output.ActivityID != activityID:
		return fmt.Errorf("repeated as %s instead of %s", output.ActivityID, activityID)
	case p.when != inChild && (output.Run == p.firstRun) != sameRun:
		return fmt.Errorf("in the same run: %v instead of %v", !sameRun, sameRun)
	case !strings.HasPrefix(output.Key, p.owner()+"/") || !strings.HasSuffix(output.Key, "/a/1"):
		return fmt.Errorf("its key is %s", output.Key)
	}
	return nil
}

// output is what the job returned.
func (p *endPlay) output(ctx context.Context, result *request.Result) (output testjobs.Ended, err error) {
	raw := result.Jobs["a"]
	if p.when == inChild {
		var child request.Result
		if err := json.Unmarshal(result.Jobs["sub"], &child); err != nil {
			return output, err
		}
		raw = child.Jobs["a"]
	}
	s, err := p.statusOf(ctx, p.owner())
	if err == nil && s.Jobs[0].Tries != 1 {
		err = fmt.Errorf("%d tries", s.Jobs[0].Tries)
	}
	return output, errors.Join(err, json.Unmarshal(raw, &output))
}

// tell sends the request a message in the way of the case.
func (p *endPlay) tell(ctx context.Context, name, input string) error {
	if p.bySignal {
		return p.c.SignalWorkflow(ctx, p.id, "", name, json.RawMessage(input))
	}
	handle, err := p.c.UpdateWorkflow(ctx, updateOptions(p.id, name, input))
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

func (p *endPlay) statusOf(ctx context.Context, id string) (*request.Status, error) {
	answer, err := p.c.QueryWorkflow(ctx, id, "", workflows.QueryStatus)
	if err != nil {
		return nil, err
	}
	s := &request.Status{}
	return s, answer.Get(s)
}

func (p *endPlay) awaitStatus(ctx context.Context, id, what string, wanted func(*request.Status) bool) error {
	var s *request.Status
	err := until(ctx, what, func() (is bool) {
		var err error
		s, err = p.statusOf(ctx, id)
		return err == nil && wanted(s)
	})
	if err != nil && s != nil {
		raw, _ := json.Marshal(s)
		return fmt.Errorf("%w: %s", err, raw)
	}
	return err
}

// until polls until something is so.
func until(ctx context.Context, what string, is func() bool) error {
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-time.After(250 * time.Millisecond):
		}
	}
	return nil
}
