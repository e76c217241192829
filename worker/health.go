package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.temporal.io/sdk/client"
)

// health serves /metrics, /healthz and /readyz.
type health struct {
	running  atomic.Bool // polls have begun and the worker does not stop
	reach    atomic.Pointer[reach]
	polls    *polls
	registry *promclient.Registry
	server   *http.Server
}

// newHealth makes the metrics handler for the SDK and our activities alike.
func newHealth() (*health, client.MetricsHandler, error) {
	h := &health{polls: newPolls(), registry: promclient.NewRegistry()}
	handler, err := newMetrics(h.registry)
	return h, handler, err
}

// serve listens on address; "" listens nowhere.
func (h *health) serve(address string) error {
	if address == "" {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", h.answerReady)
	listener, err := net.Listen("tcp", address) //nolint:noctx // done at once
	if err != nil {
		return err
	}
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := h.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			h.running.Store(false)
		}
	}()
	return nil
}

func (h *health) close(ctx context.Context) error {
	if h.server == nil {
		return nil
	}
	return h.server.Shutdown(ctx)
}
