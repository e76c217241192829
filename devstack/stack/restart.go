package stack

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
)

// serveRestart kills the Temporal server with SIGKILL and starts it again on the
// same ports, for tests of what that does to clients. Only with a data directory
// is there anything left of its workflows.
func (s *Stack) serveRestart(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Data == "" {
		http.Error(w, "without --data nothing would be left: start the stack with --data DIR", http.StatusConflict)
		return
	}
	if err := s.restartTemporal(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Stack) restartTemporal(ctx context.Context) error {
	s.restarts.Lock()
	defer s.restarts.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ReadyWithin)
	defer cancel()
	binary, err := findTemporal(s.cfg.Temporal)
	if err != nil {
		return err
	}
	old := s.temporal
	old.expected.Store(true)
	old.process.Kill()
	// The ports must be the same, or the clients would not find it.
	p, err := tryTemporal(ctx, s.cfg, binary, old.ports)
	if err != nil {
		select {
		case s.ended <- err:
		default:
		}
		return err
	}
	s.temporal = p
	for i := range s.parts {
		if s.parts[i] == old {
			s.parts[i] = p
		}
	}
	s.watchPart(p)
	return nil
}

// addresses of a stack that keeps its data: queue URLs are in that data, so the
// next start tries to have the same.
type addresses struct {
	Temporal []int             `json:"temporal"`
	Guard    map[string]string `json:"guard"`
}

func addressFile(cfg Config) string { return filepath.Join(cfg.Data, "addresses.json") }

// recall answers what the last start remembered; nothing, if that can't be read.
func recall(cfg Config) (known addresses) {
	if cfg.Data == "" {
		return known
	}
	if text, err := os.ReadFile(addressFile(cfg)); err == nil {
		_ = json.Unmarshal(text, &known)
	}
	return known
}

func remember(cfg Config, now addresses) error {
	if cfg.Data == "" {
		return nil
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return os.WriteFile(addressFile(cfg), text, 0o644)
}
