package shell

import (
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"
)

// Instant is how a page shows an instant.
const Instant = "2006-01-02 15:04:05 UTC"

// ShowDetails shows a page in the Web UI: as of when it holds, the trouble, then the
// body. It is no event. The Web UI cuts the last line of a page that outgrows its
// frame, so the last one is empty, though not for Markdown.
func ShowDetails(ctx workflow.Context, asOf time.Time, trouble Trouble, body string) {
	workflow.SetCurrentDetails(ctx, "As of "+asOf.UTC().Format(Instant)+".\n\n"+TroubleLine(trouble)+strings.TrimSpace(body)+"\n\n\u00a0\n")
}

// AwaitFor waits for a condition, so long at most. The timer that it may cost says in
// the Web UI what it is for.
func AwaitFor(ctx workflow.Context, atMost time.Duration, what string, condition func() bool) (bool, error) {
	return workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: atMost, TimerOptions: workflow.TimerOptions{Summary: what},
	}, condition)
}
