package countobjects

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Status is the answer to the query `status` and to the updates, and the
// result.
type Status struct {
	AsOf       time.Time `json:"asOf"`
	State      string    `json:"state"`
	QueueURL   string    `json:"queueUrl"`
	Table      string    `json:"table"`
	Messages   int64     `json:"messages"`
	Events     int64     `json:"events"`
	News       int64     `json:"news"`
	Passed     int64     `json:"passed"`
	Unreadable int64     `json:"unreadable"`
	// LastUnreadable is the message that could not be read last, and why.
	LastUnreadable string         `json:"lastUnreadable,omitempty"`
	RawKeys        int64          `json:"rawKeys"`
	Batches        int64          `json:"batches"`
	Errors         int64          `json:"errors"`
	LastError      string         `json:"lastError,omitempty"`
	Trouble        *shell.Trouble `json:"trouble"`
	LastMessageAt  *time.Time     `json:"lastMessageAt"`
}

// Figures fills in what the counting activity tells.
func (s *Status) Figures(f wire.CountFigures) {
	s.Messages, s.Events, s.News = f.Messages, f.Events, f.News
	s.Passed, s.Unreadable, s.RawKeys = f.Passed, f.Unreadable, f.RawKeys
	s.Batches, s.Errors, s.LastError = f.Batches, f.Errors, f.LastError
	s.LastUnreadable = f.LastUnreadable
	s.LastMessageAt = shell.TimeOrNil(f.LastMessageAt)
	if f.LastMessageAt.After(s.AsOf) {
		s.AsOf = f.LastMessageAt
	}
}

func (m *monitor) status() (Status, error) {
	s := Status{Trouble: m.trouble().OrNil(), AsOf: m.asOf, State: m.state, QueueURL: m.in.QueueURL, Table: m.in.Table}
	s.Figures(m.figures)
	return s, nil
}

// trouble is why nothing is counted.
func (m *monitor) trouble() shell.Trouble {
	switch {
	case m.over:
		return shell.Trouble{}
	case m.figures.Trouble.Type != "":
		return m.figures.Trouble
	default:
		return shell.OrHeard(m.ctx, m.counting.Trouble())
	}
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
	if f.LastUnreadable != "" {
		fmt.Fprintf(&b, "- last that can't be read: %s\n", f.LastUnreadable)
	}
	if f.LastError != "" {
		fmt.Fprintf(&b, "- last error: %s (%d in all)\n", f.LastError, f.Errors)
	}
	if chart := f.Arrivals.Chart(m.asOf); chart != "" {
		fmt.Fprintf(&b, "\nNews:\n\n```\n%s\n```\n", chart)
	}
	b.WriteString("\n`starter count status` shows the figures since.\n")
	shell.ShowDetails(ctx, m.asOf, m.trouble(), b.String())
	return m.shown.Show(ctx, shell.Shown{State: m.state, Type: wire.TypeCountObjects, Target: queueOf(m.in.QueueURL), Trouble: m.trouble(), Ended: m.over})
}
