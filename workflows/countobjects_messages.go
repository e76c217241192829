package workflows

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/wire"
)

// Ways to tell which counter an object belongs to.
const (
	countByBucket = "bucket"
	countByPrefix = "prefix"
)

// CountInput starts a monitor.
type CountInput struct {
	QueueURL    string `json:"queueUrl" doc:"required"`
	Table       string `json:"table" doc:"required"` // string hash key `id`
	Key         string `json:"key"`
	PrefixDepth int    `json:"prefixDepth"` // elements of the key that make the prefix
}

// continuedCount is the input of a run that goes on from another.
type continuedCount struct {
	CountInput
	Carried *countCarried `json:"carried,omitempty"`
}

type countCarried struct {
	Figures wire.CountFigures `json:"figures"`
	State   string            `json:"state"`
}

// Check adds what is wrong with the values.
func (in *CountInput) Check(faults *document.Faults) {
	if in.QueueURL != "" && !strings.Contains(in.QueueURL, "://") {
		faults.Add("queueUrl", "%q is no URL of a queue", in.QueueURL)
	}
	if in.QueueURL == "" && !faults.Has("queueUrl") {
		faults.Add("queueUrl", "empty")
	}
	if in.Table == "" && !faults.Has("table") {
		faults.Add("table", "empty")
	}
	if in.Key != countByBucket && in.Key != countByPrefix {
		faults.Add("key", "%q is neither %q nor %q", in.Key, countByBucket, countByPrefix)
	}
	if in.PrefixDepth < 1 || in.PrefixDepth > 100 {
		faults.Add("prefixDepth", "%d is not within 1 and 100", in.PrefixDepth)
	}
}

func (in *CountInput) depth() int {
	if in.Key == countByPrefix {
		return in.PrefixDepth
	}
	return 0
}

// CountStatus is the answer to the query `status` and to the updates, and the
// result.
type CountStatus struct {
	AsOf          time.Time  `json:"asOf"`
	State         string     `json:"state"`
	QueueURL      string     `json:"queueUrl"`
	Table         string     `json:"table"`
	Messages      int64      `json:"messages"`
	Events        int64      `json:"events"`
	News          int64      `json:"news"`
	Passed        int64      `json:"passed"`
	Unreadable    int64      `json:"unreadable"`
	RawKeys       int64      `json:"rawKeys"`
	Batches       int64      `json:"batches"`
	Errors        int64      `json:"errors"`
	LastError     string     `json:"lastError,omitempty"`
	LastMessageAt *time.Time `json:"lastMessageAt"`
}

// Figures fills in what the counting activity tells.
func (s *CountStatus) Figures(f wire.CountFigures) {
	s.Messages, s.Events, s.News = f.Messages, f.Events, f.News
	s.Passed, s.Unreadable, s.RawKeys = f.Passed, f.Unreadable, f.RawKeys
	s.Batches, s.Errors, s.LastError = f.Batches, f.Errors, f.LastError
	s.LastMessageAt = moment(f.LastMessageAt)
	if f.LastMessageAt.After(s.AsOf) {
		s.AsOf = f.LastMessageAt
	}
}

func (m *monitor) status() (CountStatus, error) {
	s := CountStatus{AsOf: m.asOf, State: m.state, QueueURL: m.in.QueueURL, Table: m.in.Table}
	s.Figures(m.figures)
	return s, nil
}

// countEnding is the input of updates that answer how far they are after a while.
type countEnding struct {
	Wait duration.Duration `json:"wait"`
}

const (
	defaultCountWait = duration.Duration(30 * time.Second)
	longestCountWait = duration.Duration(time.Minute)
)

// Check adds what is wrong with the values.
func (w *countEnding) Check(faults *document.Faults) {
	if w.Wait > longestCountWait {
		faults.Add("wait", "%s is above %s", w.Wait, longestCountWait)
	}
}

func (m *monitor) handle(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryStatus, m.status); err != nil {
		return err
	}
	if err := m.handleEnding(ctx, UpdateStop, countStopped); err != nil {
		return err
	}
	return m.handleEnding(ctx, UpdateDrain, countDraining)
}

// handleEnding sets up a message that leads to the end. A stop overrules a drain.
func (m *monitor) handleEnding(ctx workflow.Context, name, state string) error {
	read := func(raw json.RawMessage) (countEnding, error) {
		in := countEnding{Wait: defaultCountWait}
		err := decode(name, raw, &in)
		return in, err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, name, func(ctx workflow.Context, raw json.RawMessage) (CountStatus, error) {
		in, err := read(raw)
		if err != nil {
			return CountStatus{}, err
		}
		if m.state == countOpen || m.state == countDraining && state == countStopped {
			m.state = state
			m.counting.interrupt()
		}
		if _, err := workflow.AwaitWithTimeout(ctx, in.Wait.Std(), func() bool { return m.over }); err != nil {
			return CountStatus{}, err
		}
		return m.status()
	}, workflow.UpdateHandlerOptions{Validator: func(raw json.RawMessage) error {
		_, err := read(raw)
		return err
	}})
}

// show tells the Web UI and visibility where the monitor stands.
func (m *monitor) show(ctx workflow.Context) error {
	f := m.figures
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**: counts what `%s` announces in `%s`\n\n", m.state, queueOf(m.in.QueueURL), m.in.Table)
	fmt.Fprintf(&b, "- messages: %d; events in them: %d; objects with news: %d; batches written: %d\n", f.Messages, f.Events, f.News, f.Batches)
	fmt.Fprintf(&b, "- passed over: %d; deliveries that can't be read: %d; keys that can't be decoded: %d\n", f.Passed, f.Unreadable, f.RawKeys)
	if !f.LastMessageAt.IsZero() {
		fmt.Fprintf(&b, "- last message: %s\n", f.LastMessageAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if f.LastError != "" {
		fmt.Fprintf(&b, "- last error: %s (%d in all)\n", f.LastError, f.Errors)
	}
	if chart := f.Arrivals.Chart(m.asOf); chart != "" {
		fmt.Fprintf(&b, "\nNews:\n\n```\n%s\n```\n", chart)
	}
	fmt.Fprintf(&b, "\nAs of %s; `starter count status` shows the figures since.\n", m.asOf.Format("15:04:05 UTC"))
	workflow.SetCurrentDetails(ctx, b.String())
	return m.shown.set(ctx, m.state, TypeCountObjects, queueOf(m.in.QueueURL))
}

// queueOf is the name of the queue of a URL.
func queueOf(url string) string { return url[strings.LastIndex(url, "/")+1:] }
