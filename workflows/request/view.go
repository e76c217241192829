package request

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Status is the status document of a request.
type Status struct {
	// Notice comes first in the answer to suspend: when the suspension expires, and
	// how that is changed.
	Notice       string         `json:"notice,omitempty"`
	AsOf         time.Time      `json:"asOf"`
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	State        jobchain.State `json:"state"`
	Reason       string         `json:"reason"`
	LastError    string         `json:"lastError"` // of the latest failed try of a job that is not COMPLETE
	CreatedAt    time.Time      `json:"createdAt"`
	SuspendedAt  *time.Time     `json:"suspendedAt"`
	ResumeBy     *time.Time     `json:"resumeBy"`
	FinishedAt   *time.Time     `json:"finishedAt"`
	SuspendedFor string         `json:"suspendedFor"` // time in SUSPENDED in all, this suspension included
	Stopping     int            `json:"stopping"`     // jobs that were asked to stop and are waited for
	TotalJobs    int            `json:"totalJobs"`
	FinishedJobs int            `json:"finishedJobs"`
	LogDropped   int            `json:"logDropped"` // oldest entries of the log, too many to keep
	Claim        *Claim         `json:"claim"`
	Trouble      *shell.Trouble `json:"trouble"`
	Jobs         []Job          `json:"jobs"`

	AlreadyRunning   bool `json:"alreadyRunning,omitempty"`   // answer to resume
	AlreadySuspended bool `json:"alreadySuspended,omitempty"` // answer to suspend
}

// Claim is a claim as everybody may see it.
type Claim struct {
	Holder    string    `json:"holder"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Job is a job in Status.
type Job struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	TaskQueue  string         `json:"taskQueue"`
	State      jobchain.State `json:"state"`
	Tries      int            `json:"tries"`
	StartedAt  *time.Time     `json:"startedAt"`  // of the latest try
	FinishedAt *time.Time     `json:"finishedAt"` // of the latest try
	Error      string         `json:"error"`
	WaitsFor   []string       `json:"waitsFor"` // ids, or why else it waits
}

// Entry is a try in the answer to the query log, oldest first.
type Entry struct {
	Job        string         `json:"job"`
	Try        int            `json:"try"`
	State      jobchain.State `json:"state"`
	Error      string         `json:"error"`
	StartedAt  time.Time      `json:"startedAt"`
	FinishedAt *time.Time     `json:"finishedAt"`
}

// page is the part of a list that a query asks for.
type page struct {
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

type logPage struct {
	Job string `json:"job"`
	page
}

const (
	defaultPage = 500
	maxPage     = 2000 // entries of a query's answer
)

func firstPage() page { return page{Limit: defaultPage} }

// Check reports what is wrong with the values.
func (p *page) Check(faults *document.Faults) {
	if p.Offset < 0 {
		faults.Add("offset", "must be at least 0, not %d", p.Offset)
	}
	if p.Limit < 0 || p.Limit > maxPage {
		faults.Add("limit", "must be between 0 and %d, not %d", maxPage, p.Limit)
	}
}

// bounds are the elements of a list of n that the page shows.
func (p page) bounds(n int) (from, to int) {
	if p.Limit == 0 {
		p.Limit = maxPage
	}
	from = min(p.Offset, n)
	return from, min(from+p.Limit, n)
}

func (r *request) answerStatus(p page) (*Status, error) { return r.status(r.ctx, p), nil }

// status is the view of the request. It changes nothing: queries ask for it.
func (r *request) status(ctx workflow.Context, p page) *Status {
	now := workflow.Now(ctx)
	s := &Status{
		AsOf: now.UTC(), ID: r.id, Type: r.doc.Type, State: r.gate.State, Reason: r.gate.Reason,
		CreatedAt: r.created.UTC(), SuspendedAt: instant(r.gate.SuspendedAt), ResumeBy: instant(r.gate.ResumeBy),
		FinishedAt: instant(r.finishedAt), SuspendedFor: r.suspendedFor(now).String(), Stopping: r.stopping(now),
		TotalJobs: r.chain.Total(), FinishedJobs: r.chain.Finished(), LogDropped: r.chain.Log().Dropped(), Trouble: r.trouble(ctx).OrNil(), Jobs: []Job{},
	}
	if r.gate.Claim.Live(now) {
		s.Claim = &Claim{Holder: r.gate.Claim.Holder, ExpiresAt: r.gate.Claim.ExpiresAt.UTC()}
	}
	s.LastError = r.lastError()
	from, to := p.bounds(r.chain.Total())
	room, troubles := maxShown, r.troubles(now)
	for i := from; i < to; i++ {
		v := r.jobView(i)
		if trouble := troubles[i]; trouble != "" {
			v.Error = trouble
		}
		if room -= v.bytes(); room < 0 && i > from {
			break
		}
		s.Jobs = append(s.Jobs, v)
	}
	return s
}

// lastError names the job and tells the error.
func (r *request) lastError() string {
	log := r.chain.Log()
	for n := log.Len() - 1; n >= 0; n-- {
		e := log.At(n)
		if e.Error != "" && r.chain.View(e.Job).State != jobchain.Complete {
			return r.chain.Job(e.Job).ID + ": " + errorText(e.Type, e.Error)
		}
	}
	return ""
}

// maxShown bounds the jobs or the tries of one answer, in bytes of JSON: it has to
// fit a payload, as the details of a failure too. Who reads on asks from where the
// answer ended.
const maxShown = 3 << 19

// bytes is how much of an answer the job takes at most. An escaped character takes
// six.
func (j *Job) bytes() int {
	const fields = 400 // their names, instants, numbers
	n := len(j.Name) + len(j.TaskQueue) + len(j.Error)
	for _, w := range j.WaitsFor {
		n += len(w) + 1
	}
	return fields + len(j.ID) + 6*n
}

func (r *request) jobView(i int) Job {
	j, v := r.chain.Job(i), r.chain.View(i)
	waitsFor := v.WaitsFor
	if waitsFor == nil {
		waitsFor = []string{}
	}
	return Job{ID: j.ID, Name: j.Name(), TaskQueue: r.queueOf(j), State: v.State, Tries: v.Tries,
		StartedAt: instant(v.Started), FinishedAt: instant(v.Ended), Error: errorText(v.Type, v.Error), WaitsFor: waitsFor}
}

// queueOf is the task queue that job j is dispatched to.
func (r *request) queueOf(j *jobchain.Job) string {
	if j.TaskQueue != "" {
		return j.TaskQueue
	}
	return r.queue
}

func (r *request) suspendedFor(now time.Time) time.Duration {
	d := r.gate.SuspendedFor
	if r.gate.State == jobchain.Suspended {
		d += now.Sub(r.gate.SuspendedAt)
	}
	return d.Round(time.Millisecond)
}

func (r *request) tryLog(p logPage) ([]Entry, error) {
	log := r.chain.Log()
	var rows []int
	only, known := r.chain.Index(p.Job)
	if p.Job != "" && !known {
		return nil, shell.Refused(r.ctx, wire.QueryLog, activities.TypeNotFound, "there is no job "+p.Job)
	}
	for n := range log.Len() {
		if p.Job == "" || log.At(n).Job == only {
			rows = append(rows, n)
		}
	}
	from, to := p.bounds(len(rows))
	entries := []Entry{}
	room := maxShown
	for _, n := range rows[from:to] {
		e := log.At(n)
		if room -= 400 + 6*(len(e.Type)+len(e.Error)); room < 0 {
			break
		}
		entries = append(entries, Entry{Job: r.chain.Job(e.Job).ID, Try: e.Try, State: e.State,
			Error: errorText(e.Type, e.Error), StartedAt: e.Started.UTC(), FinishedAt: instant(e.Ended)})
	}
	return entries, nil
}
