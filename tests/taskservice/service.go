// Package taskservice is a stand-in for the service that decides who may run a
// task, for tests and benchmarks: it speaks the protocol of docs/claiming.md,
// keeps its books in memory, and can be told to fail, to be slow, and to have
// another clock. It listens on 127.0.0.1 only.
package taskservice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Drop, as the status of a fault, closes the connection without an answer, after
// the work was done.
const Drop = -1

// A Fault is what the service does to requests of an operation (claim, reclaim,
// completed, failed, exception, poll-task-url), in place of the work.
type Fault struct {
	Operation string
	TaskID    string        // "": any
	Status    int           // Drop: do the work and lose the answer; 0: only be slow
	Delay     time.Duration // before anything
	Count     int           // so many requests; 0: until cleared
}

// Run is what the service knows of a run of a task.
type Run struct {
	State      string // pending, running, completed, failed, exception
	Reason     string
	WorkerID   string
	TakenUntil time.Time
	Claims     int
	Reclaims   int
	Reports    int // completed, failed, exception
}

// Service is a running stand-in.
type Service struct {
	URL string

	closing chan struct{}

	mu       sync.Mutex
	claimFor time.Duration
	skew     time.Duration
	token    string
	runs     map[string]*Run
	payloads map[string]any
	faults   []*Fault
	calls    map[string]int
	urls     func() PollURLs
}

// PollURLs is the answer about signed URLs.
type PollURLs struct {
	Queues  []QueueURLs `json:"queues"`
	Expires time.Time   `json:"expires"`
}

// QueueURLs are the signed URLs of one queue.
type QueueURLs struct {
	SignedPollURL   string `json:"signedPollUrl"`
	SignedDeleteURL string `json:"signedDeleteUrl"`
}

// Start runs a service until the test ends.
func Start(t testing.TB) *Service {
	s := &Service{
		claimFor: 20 * time.Minute, runs: map[string]*Run{}, payloads: map[string]any{},
		calls: map[string]int{}, closing: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /task/{task}/runs/{run}/{operation}", s.onRun)
	mux.HandleFunc("GET /poll-task-url/{provisioner}/{workerType}", s.onPollURLs)
	server := httptest.NewServer(mux)
	s.URL = server.URL
	t.Cleanup(func() {
		close(s.closing)
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// Set changes how long claims last, how far its clock is ahead of ours, and the
// bearer token that it wants ("" none).
func (s *Service) Set(claimFor, skew time.Duration, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claimFor, s.skew, s.token = claimFor, skew, token
}

// SignURLs makes the answers about signed URLs.
func (s *Service) SignURLs(f func() PollURLs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.urls = f
}

// Payload gives the payload of a task.
func (s *Service) Payload(taskID string, payload any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.payloads[taskID] = payload
}

// Inject adds a fault; the first one that matches a request counts.
func (s *Service) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Resolve ends a run from outside, as a cancellation or a deadline does: further
// reclaims are answered 409.
func (s *Service) Resolve(taskID string, runID int, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run(taskID, runID).State = state
}

// Run answers what is known of a run.
func (s *Service) Run(taskID string, runID int) Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.run(taskID, runID)
}

// Calls counts the requests of an operation.
func (s *Service) Calls(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[operation]
}

func (s *Service) run(taskID string, runID int) *Run {
	key := fmt.Sprintf("%s/%d", taskID, runID)
	if s.runs[key] == nil {
		s.runs[key] = &Run{State: "pending"}
	}
	return s.runs[key]
}

func (s *Service) now() time.Time { return time.Now().Add(s.skew) }

func (s *Service) onRun(w http.ResponseWriter, r *http.Request) {
	taskID, operation := r.PathValue("task"), r.PathValue("operation")
	runID, err := strconv.Atoi(r.PathValue("run"))
	if err != nil {
		http.Error(w, "bad run", http.StatusBadRequest)
		return
	}
	var body struct{ WorkerGroup, WorkerID, Reason string }
	_ = json.NewDecoder(r.Body).Decode(&body) // most operations have none
	s.serve(w, r, operation, taskID, func() (int, any) {
		return s.decide(s.run(taskID, runID), operation, taskID, runID, body.WorkerGroup+"/"+body.WorkerID, body.Reason)
	})
}

// decide does an operation on a run; s.mu is held.
func (s *Service) decide(run *Run, operation, taskID string, runID int, worker, reason string) (int, any) {
	live := run.State == "running" && s.now().Before(run.TakenUntil)
	switch operation {
	case "claim":
		run.Claims++
		if run.State != "pending" && (!live || run.WorkerID != worker) {
			return http.StatusConflict, nil
		}
		run.State, run.WorkerID, run.TakenUntil = "running", worker, s.now().Add(s.claimFor)
		return http.StatusOK, map[string]any{
			"runId": runID, "takenUntil": run.TakenUntil.UTC(), "task": map[string]any{"payload": s.payloads[taskID]}}
	case "reclaim":
		run.Reclaims++
		if !live {
			return http.StatusConflict, nil
		}
		run.TakenUntil = s.now().Add(s.claimFor)
		return http.StatusOK, map[string]any{"takenUntil": run.TakenUntil.UTC()}
	case "completed", "failed", "exception":
		run.Reports++
		if run.State != "running" {
			return http.StatusConflict, nil
		}
		run.State, run.Reason = operation, reason
		return http.StatusOK, map[string]any{}
	default:
		return http.StatusNotFound, nil
	}
}

func (s *Service) onPollURLs(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, "poll-task-url", "", func() (int, any) {
		if s.urls == nil {
			return http.StatusNotFound, nil
		}
		return http.StatusOK, s.urls()
	})
}

// serve applies the faults and answers with the service's clock.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, operation, taskID string, work func() (int, any)) {
	s.mu.Lock()
	s.calls[operation]++
	fault := s.match(operation, taskID)
	s.mu.Unlock()
	if fault.Delay > 0 {
		select {
		case <-time.After(fault.Delay):
		case <-r.Context().Done():
			return
		case <-s.closing:
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if fault.Status > 0 {
		w.WriteHeader(fault.Status)
		return
	}
	status, answer := work()
	if fault.Status == Drop {
		panic(http.ErrAbortHandler) // how net/http closes a connection without an answer
	}
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// match finds the fault for a request and counts it; s.mu is held.
func (s *Service) match(operation, taskID string) Fault {
	for i, f := range s.faults {
		if f.Operation != operation || (f.TaskID != "" && !strings.EqualFold(f.TaskID, taskID)) {
			continue
		}
		if f.Count > 0 {
			f.Count--
			if f.Count == 0 {
				s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			}
		}
		return *f
	}
	return Fault{}
}
