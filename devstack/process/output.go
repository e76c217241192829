package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// kept bounds the output held in memory; the log file has all of it.
const kept = 64 << 10

// output writes to a file, keeps the end, and tells of news.
type output struct {
	mu   sync.Mutex
	file *os.File
	last []byte
	news chan struct{}
}

func newOutput(path string) (*output, error) {
	o := &output{news: make(chan struct{})}
	if path == "" {
		return o, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	o.file = file
	return o, nil
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		// A full disk must not stop the child, so the error is passed over.
		_, _ = o.file.Write(b)
	}
	o.last = append(o.last, b...)
	if extra := len(o.last) - kept; extra > 0 {
		o.last = append([]byte(nil), o.last[extra:]...)
	}
	close(o.news)
	o.news = make(chan struct{})
	return len(b), nil
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		_ = o.file.Close()
		o.file = nil
	}
}

// changed is closed at the next write.
func (o *output) changed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.news
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.last)
}

// tail is the last n lines that are not empty.
func (o *output) tail(n int) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for _, line := range bytes.Split(o.last, []byte("\n")) {
		if text := strings.TrimRight(string(line), " \r\t"); text != "" {
			lines = append(lines, text)
		}
	}
	return lines[max(0, len(lines)-n):]
}
