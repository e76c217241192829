package guard

import (
	"encoding/json"
	"net/http"
	"time"
)

// admin serves faults, counters, limits and the journal.
func (g *Guard) admin() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { reply(w, g.faults.list()) })
	mux.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) {
		var fault Fault
		if !read(w, r, &fault) {
			return
		}
		if err := fault.validate(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply(w, map[string]string{"id": g.faults.add(fault, time.Now())})
	})
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, r *http.Request) {
		g.faults.remove(r.URL.Query().Get("id"))
		reply(w, struct{}{})
	})
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) { reply(w, g.counters.all()) })
	mux.HandleFunc("POST /counters/reset", func(w http.ResponseWriter, _ *http.Request) {
		g.counters.reset()
		reply(w, struct{}{})
	})
	mux.HandleFunc("GET /actions", g.actions.serve)
	mux.HandleFunc("GET /limits", func(w http.ResponseWriter, _ *http.Request) { reply(w, g.limits.get()) })
	mux.HandleFunc("PUT /limits", func(w http.ResponseWriter, r *http.Request) {
		var over Limits
		if !read(w, r, &over) {
			return
		}
		g.limits.merge(over)
		reply(w, g.limits.get())
	})
	mux.HandleFunc("GET /journal", func(w http.ResponseWriter, _ *http.Request) { reply(w, g.journal.all()) })
	mux.HandleFunc("POST /journal", func(w http.ResponseWriter, _ *http.Request) {
		g.journal.set(true)
		reply(w, struct{}{})
	})
	mux.HandleFunc("DELETE /journal", func(w http.ResponseWriter, _ *http.Request) {
		g.journal.set(false)
		reply(w, struct{}{})
	})
	return mux
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
