package delivery

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
)

// progress is the last delivered sequence number by shard.
type progress struct {
	file    string
	mu      sync.Mutex
	reached map[string]string
}

// after is where a shard goes on; "" is its beginning.
func (p *progress) after(shard string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reached[shard]
}

// loadProgress reads a checkpoint file, which need not be there; no file keeps
// nothing.
func loadProgress(file string) (*progress, error) {
	p := &progress{file: file, reached: map[string]string{}}
	if file == "" {
		return p, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &p.reached); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", file, err)
	}
	return p, nil
}

// advance keeps what was just delivered.
func (p *progress) advance(reached map[string]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.reached, reached)
	if p.file == "" {
		return nil
	}
	text, err := json.Marshal(p.reached)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(p.file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(p.file+".new", p.file)
}
