package harness

import (
	"encoding/json"
	"os/exec"
	"strings"
	"time"
)

// Page is a page of the Web UI to open in a headless Chromium. Path is that behind the
// address of the Web UI; the page is looked at when it has all texts of Awaits.
type Page struct {
	Path    string   `json:"-"`
	URL     string   `json:"url"`
	Awaits  []string `json:"awaits"`
	Picture string   `json:"picture"` // the PNG file to draw it into; "" for none
	Width   int      `json:"width"`   // of the window, in pixels; 0 is 1280
	Height  int      `json:"height"`  // 0 is 1000
}

// Seen is what a person sees of a page. Cut are texts that are hidden for good.
type Seen struct {
	URL   string   `json:"url"`
	Text  string   `json:"text"`
	Cut   []string `json:"cut"`
	Error string   `json:"error"`
}

// SkipWithoutChromium skips the test where there is no Chromium, and says so.
func (s *Stack) SkipWithoutChromium() {
	s.t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if _, err := exec.LookPath(name); err == nil {
			return
		}
	}
	s.t.Skip("there is no Chromium to look at the Web UI with: `make chromium` installs one where apt-get can")
}

// Browse opens pages, one after the other.
func (s *Stack) Browse(pages ...Page) []Seen {
	s.t.Helper()
	var in strings.Builder
	for _, p := range pages {
		if p.Width == 0 {
			p.Width, p.Height = 1280, 1000
		}
		p.URL = s.Env("SLUICE_UI_ADDRESS") + p.Path
		raw, err := json.Marshal(p)
		if err != nil {
			s.t.Fatal(err)
		}
		in.Write(append(raw, '\n'))
	}
	path, err := devstackBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	result := s.command(5*time.Minute, in.String(), "devstack", path, []string{"browse"})
	result.OK(s.t)
	seen := make([]Seen, 0, len(pages))
	for lines := json.NewDecoder(strings.NewReader(result.Stdout)); lines.More(); {
		var one Seen
		if err := lines.Decode(&one); err != nil {
			s.t.Fatal(err)
		}
		seen = append(seen, one)
	}
	if len(seen) != len(pages) {
		s.t.Fatalf("%d of %d pages were looked at:\n%s", len(seen), len(pages), result.Stderr)
	}
	return seen
}
