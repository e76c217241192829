// Package browser opens pages in a headless Chromium, tells what a person sees of
// them, and takes pictures. It needs Chromium on PATH (Find).
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Find is the path of a Chromium; there may be none.
func Find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no chromium on PATH; `apt-get install chromium` installs one")
}

// Page is a page to open.
type Page struct {
	URL string `json:"url"`
	// Awaits are texts of which the page has to have all before it is looked at.
	Awaits []string `json:"awaits"`
	// Clicks are texts that are clicked on before, one after the other.
	Clicks []string `json:"clicks"`
	// Picture is the PNG file that the page is drawn into; "" for none.
	Picture string `json:"picture"`
	// Width and Height are those of the window, in pixels; 1280 and 1000.
	Width  int64 `json:"width"`
	Height int64 `json:"height"`
}

// Seen is what a person sees of a page.
type Seen struct {
	URL  string `json:"url"`
	Text string `json:"text"`
	// Cut are texts of which some is hidden for good: outside of a frame that does not
	// scroll.
	Cut   []string `json:"cut"`
	Error string   `json:"error"` // that the page could not be looked at
}

// Browser is a running Chromium.
type Browser struct {
	tab     func() (context.Context, context.CancelFunc) // a new one
	cancels []context.CancelFunc
	profile string
}

// Start starts the Chromium of that path, with a profile that Close removes.
func Start(ctx context.Context, path string) (*Browser, error) {
	profile, err := os.MkdirTemp("", "browser-")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile),
		chromedp.NoSandbox, // root has none, in containers as in CI; the pages are our own
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
		chromedp.Flag("force-color-profile", "srgb"))
	allocated, endProcess := chromedp.NewExecAllocator(ctx, options...)
	tab, endTab := chromedp.NewContext(allocated)
	b := &Browser{tab: func() (context.Context, context.CancelFunc) { return chromedp.NewContext(tab) }, cancels: []context.CancelFunc{endTab, endProcess}, profile: profile}
	if err := chromedp.Run(tab); err != nil {
		b.Close()
		return nil, fmt.Errorf("chromium: %w", err)
	}
	return b, nil
}

// Close ends the Chromium.
func (b *Browser) Close() {
	for _, cancel := range b.cancels {
		cancel()
	}
	_ = os.RemoveAll(b.profile)
}

// patience is how long a page may take to have what it is to have.
const patience = 20 * time.Second

// Look opens a page in a tab of its own.
func (b *Browser) Look(p Page) Seen {
	tab, end := b.tab()
	defer end()
	if err := chromedp.Run(tab); err != nil { // opens it, for longer than a step may take
		return Seen{URL: p.URL, Error: err.Error()}
	}
	patient, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	seen := Seen{URL: p.URL, Cut: []string{}}
	if p.Width == 0 {
		p.Width, p.Height = 1280, 1000
	}
	var png []byte
	steps := []chromedp.Action{
		emulation.SetTimezoneOverride("UTC"),
		chromedp.EmulateViewport(p.Width, p.Height),
		chromedp.Navigate(p.URL),
	}
	for _, text := range p.Clicks {
		steps = append(steps, await(clicked, text))
	}
	for _, text := range p.Awaits {
		steps = append(steps, await(shows, text))
	}
	steps = append(steps, chromedp.Evaluate(findCut, &seen.Cut))
	if p.Picture != "" {
		steps = append(steps, chromedp.CaptureScreenshot(&png))
	}
	if err := chromedp.Run(patient, steps...); err != nil {
		seen.Error = err.Error()
	}
	if png != nil {
		if err := os.WriteFile(p.Picture, png, 0o644); err != nil {
			seen.Error = err.Error()
		}
	}
	// The text tells also why what was awaited did not come.
	late, cancel := context.WithTimeout(tab, 5*time.Second)
	defer cancel()
	if err := chromedp.Run(late, chromedp.Evaluate("("+text+")()", &seen.Text)); err != nil && seen.Error == "" {
		seen.Error = err.Error()
	}
	return seen
}
