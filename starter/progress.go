package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
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
