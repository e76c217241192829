package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"sluice"
	"sluice/workflows"
)

// lineInterval is how often progress is told where there is no terminal: often
// enough to see that it lives, seldom enough for a log.
const lineInterval = 5 * time.Second

// progressLine shows how far something is: a bar on a terminal, else a line now
// and then when something changed.
type progressLine struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil without a terminal
	last  string
	shown time.Time
}

func newProgress(w io.Writer) *progressLine {
	p := &progressLine{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions64(-1,
			progressbar.OptionSetWriter(w), progressbar.OptionShowCount(), progressbar.OptionFullWidth(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish())
	}
	return p
}

// show tells that done of total is reached; a total of 0 is not known.
func (p *progressLine) show(done, total int64, words string) {
	if p.bar != nil {
		if total > 0 && p.bar.GetMax64() != total {
			p.bar.ChangeMax64(total)
		}
		p.bar.Describe(words)
		_ = p.bar.Set64(done) // drawing is all that can fail
		return
	}
	line := fmt.Sprintf("%s %d", words, done)
	if total > 0 {
		line = fmt.Sprintf("%s %d/%d", words, done, total)
	}
	if line == p.last || time.Since(p.shown) < lineInterval {
		return
	}
	p.last, p.shown = line, time.Now()
	fmt.Fprintln(p.w, line)
}

func (p *progressLine) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// heartbeat reads into v what a pending activity of a workflow last heartbeat.
func (a *app) heartbeat(workflowID, activityType string, v any) bool {
	described, err := a.connected.DescribeWorkflow(a.ctx, workflowID, "")
	if err != nil {
		return false
	}
	dc, err := sluice.DataConverter(a.cli.Config)
	if err != nil {
		return false
	}
	for _, pending := range described.RawResponse.GetPendingActivities() {
		if pending.GetActivityType().GetName() == activityType && pending.GetHeartbeatDetails() != nil {
			return dc.FromPayloads(pending.GetHeartbeatDetails(), v) == nil
		}
	}
	return false
}

// progressOf reads from a status document how far the work is. A total of 0
// means that it is not known.
type progressOf func(status json.RawMessage) (done, total int64, words string)

// pollInterval is how often a waiting command looks at the status.
const pollInterval = time.Second

// follow shows the run's progress until it ends and returns its result.
func (a *app) follow(run begun, progress progressOf) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(a.ctx)
	bar := newProgress(a.stderr)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.showProgress(ctx, run, progress, bar)
	}()
	var result json.RawMessage
	err := run.Get(a.ctx, &result)
	cancel()
	<-ended
	bar.finish()
	if a.ctx.Err() != nil {
		return nil, a.goesOn(run)
	}
	return result, err
}

func (a *app) showProgress(ctx context.Context, run begun, progress progressOf, bar *progressLine) {
	if progress == nil {
		return
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		answer, err := a.connected.QueryWorkflow(ctx, run.GetID(), "", workflows.QueryStatus)
		if err != nil {
			continue // no worker yet, or the run is between two workflow tasks
		}
		var status json.RawMessage
		if answer.Get(&status) == nil {
			bar.show(progress(status))
		}
	}
}
