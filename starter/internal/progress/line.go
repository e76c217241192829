// Package progress shows a person how far something is: by a bar on a terminal,
// by plain lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// interval is how often progress is told where there is no terminal: often
// enough to see that it lives, seldom enough for a log.
const interval = 5 * time.Second

// longestHindrance is how much of a bar's line a hindrance may take, in runes.
const longestHindrance = 70

// A Line tells of progress.
type Line struct {
	w         io.Writer
	bar       *progressbar.ProgressBar // nil without a terminal
	last      string
	hindrance string
	shown     time.Time
}

// New writes to w.
func New(w io.Writer) *Line {
	p := &Line{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = newBar(w)
	}
	return p
}

func newBar(w io.Writer) *progressbar.ProgressBar {
	return progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(w), progressbar.OptionShowCount(), progressbar.OptionFullWidth(),
		progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish())
}

// A State is how far something is.
type State struct {
	Done, Total int64 // a Total of 0 is not known
	Words       string
	// Hindrance is why nothing moves, "" where things do.
	Hindrance string
}

// Show tells the state. A new hindrance is told at once, and in full.
func (p *Line) Show(s State) {
	isNew := s.Hindrance != p.hindrance && s.Hindrance != ""
	p.hindrance = s.Hindrance
	if p.bar != nil {
		p.draw(s, isNew)
		return
	}
	line := s.line()
	if line == p.last || !isNew && time.Since(p.shown) < interval {
		return
	}
	p.last, p.shown = line, time.Now()
	fmt.Fprintln(p.w, line)
}

func (s State) line() string {
	line := fmt.Sprintf("%s %d", s.Words, s.Done)
	if s.Total > 0 {
		line = fmt.Sprintf("%s %d/%d", s.Words, s.Done, s.Total)
	}
	if s.Hindrance != "" {
		line += "; " + s.Hindrance
	}
	return line
}

// draw moves the bar, all of which can fail is the drawing. What is too long for
// the bar stands above it.
func (p *Line) draw(s State, isNew bool) {
	words := s.Words
	if s.Hindrance != "" {
		words += "; " + clip(s.Hindrance)
	}
	if isNew && clip(s.Hindrance) != s.Hindrance {
		_ = p.bar.Clear()
		fmt.Fprintln(p.w, s.Hindrance)
	}
	if s.Total > 0 && p.bar.GetMax64() != s.Total {
		p.bar.ChangeMax64(s.Total)
	}
	p.bar.Describe(words)
	_ = p.bar.Set64(s.Done)
}

func clip(text string) string {
	if runes := []rune(text); len(runes) > longestHindrance {
		return string(runes[:longestHindrance-1]) + "…"
	}
	return text
}

// Finish takes the bar away.
func (p *Line) Finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
