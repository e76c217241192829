package producer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// view is the status as of the last workflow task.
func (p *run) view() Status {
	status := Status{
		AsOf:               workflow.Now(p.background).UTC(),
		Stream:             p.in.Stream,
		State:              p.State,
		Buffered:           len(p.Buffer.Records),
		BufferedBytes:      p.Buffer.Bytes,
		InFlight:           p.Buffer.InFlight,
		Sent:               p.Buffer.Sent,
		Dropped:            p.Buffer.Dropped,
		PossiblyDuplicated: p.Buffer.PossiblyDuplicated,
		KinesisErrors:      p.KinesisErrors,
		ConsecutiveErrors:  p.ConsecutiveErrors,
		LastError:          p.lastError(),
		Trouble:            p.trouble().OrNil(),
	}
	if !p.NextAttemptAt.IsZero() {
		at := p.NextAttemptAt.UTC()
		status.NextAttemptAt = &at
	}
	return status
}

// lastError is that of the batches since the last success.
func (p *run) lastError() string {
	if n := len(p.Events); n > 0 && p.ConsecutiveErrors > 0 {
		return p.Events[n-1].Code + ": " + p.Events[n-1].Message
	}
	return ""
}

// note keeps an event.
func (p *run) note(ctx workflow.Context, e Event) {
	const longest = 300
	if len(e.Message) > longest {
		e.Message = strings.ToValidUTF8(e.Message[:longest], "") + "…"
	}
	e.At = workflow.Now(ctx).UTC()
	p.Events = append(p.Events, e)
	if over := len(p.Events) - maxEvents; over > 0 {
		p.Events = append([]Event{}, p.Events[over:]...)
	}
	workflow.GetLogger(ctx).Warn("records not stored", "stream", p.in.Stream, "code", e.Code, "records", e.Records)
}

// trouble is why what is buffered can't be sent: errors in a row, of which the first
// is mended by the next attempt most often.
func (p *run) trouble() shell.Trouble {
	switch {
	case len(p.Buffer.Records) == 0:
		return shell.Trouble{}
	case p.ConsecutiveErrors > 1 && len(p.Events) > 0:
		last := p.Events[len(p.Events)-1]
		return shell.Trouble{Type: p.LastErrorType, Error: last.Code + ": " + last.Message}.Typed()
	default:
		return shell.Heard(p.background)
	}
}

// measure tells the metrics what is buffered and how many errors came in a row.
func (p *run) measure(ctx workflow.Context) {
	m := p.meter(ctx)
	m.Gauge("sluice_producer_buffered").Update(float64(len(p.Buffer.Records)))
	m.Gauge("sluice_producer_consecutive_errors").Update(float64(p.ConsecutiveErrors))
}

func (p *run) meter(ctx workflow.Context) client.MetricsHandler {
	return workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"stream": p.in.Stream})
}

// show keeps the search attributes and the details in the Web UI.
func (p *run) show(ctx workflow.Context) error {
	if err := p.attributes.Show(p.background, shell.Shown{State: p.State, Type: wire.TypeProducer, Target: p.in.Stream, Trouble: p.trouble(), Ended: len(p.Buffer.Records) == 0}); err != nil {
		return err
	}
	p.measure(ctx)
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**: %s buffered (%d bytes), %d sent", p.State, activities.Plural(len(p.Buffer.Records), "record"), p.Buffer.Bytes, p.Buffer.Sent)
	if p.Buffer.Dropped > 0 {
		fmt.Fprintf(&b, ", **%d dropped**", p.Buffer.Dropped)
	}
	b.WriteString(".\n\n")
	if p.closing.flushes {
		fmt.Fprintf(&b, "\nCancelled: what is buffered is sent until %s.\n", p.closing.until.UTC().Format(time.RFC3339))
	}
	switch {
	case p.batch != nil:
		fmt.Fprintf(&b, "\nA batch of %s is out.\n", activities.Plural(p.Buffer.InFlight, "record"))
	case !p.NextAttemptAt.IsZero() && len(p.Buffer.Records) > 0:
		fmt.Fprintf(&b, "\n%s in a row; the next attempt is at %s.\n", activities.Plural(p.ConsecutiveErrors, "error"), p.NextAttemptAt.UTC().Format(time.RFC3339))
	case p.State == Running && len(p.Buffer.Records) == 0:
		b.WriteString("\nWaits for records.\n")
	}
	if n := len(p.Events); n > 0 {
		last := p.Events[n-1]
		fmt.Fprintf(&b, "\nLast error: %s `%s` %s\n", last.At.Format(time.RFC3339), last.Code, last.Message)
	}
	if text := b.String(); text != p.details {
		p.details = text
		shell.ShowDetails(ctx, workflow.Now(p.background), p.trouble(), text)
	}
	return nil
}

// rootMessage is the message of the innermost error, without the wrapping of
// the activity that ended with it.
func rootMessage(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return "timed out: " + timeout.TimeoutType().String()
	}
	return err.Error()
}

// Status is the answer of `status`, `start` and `stop`.
type Status struct {
	AsOf               time.Time      `json:"asOf"`
	Stream             string         `json:"stream"`
	State              string         `json:"state"`
	LastError          string         `json:"lastError"` // since the last success, "" without one
	Buffered           int            `json:"buffered"`  // owed, in flight or not
	BufferedBytes      int            `json:"bufferedBytes"`
	InFlight           int            `json:"inFlight"`
	Sent               int64          `json:"sent"`
	Dropped            int64          `json:"dropped"`
	PossiblyDuplicated int64          `json:"possiblyDuplicated"`
	KinesisErrors      int64          `json:"kinesisErrors"` // batches with an error
	ConsecutiveErrors  int            `json:"consecutiveErrors"`
	NextAttemptAt      *time.Time     `json:"nextAttemptAt"`
	Trouble            *shell.Trouble `json:"trouble"`
}

// Event is an error, or that records were dropped.
type Event struct {
	At      time.Time `json:"at"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Records int       `json:"records"`
}
