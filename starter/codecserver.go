package main

import (
	"errors"
	"net/http"
	"time"

	"go.temporal.io/sdk/converter"

	"sluice/internal/connect"
)

// codecServerCmd decodes payloads for the Web UI and the temporal command, so
// that people who may read them can.
type codecServerCmd struct {
	Address string   `help:"Address to serve on." default:"127.0.0.1:8234"`
	Origins []string `help:"Origins of the Web UI that may ask; by default that of --ui-address."`
}

func (s codecServerCmd) Run(a *app) error {
	if a.cli.EncryptionKey == "" {
		return usage("codec-server needs SLUICE_ENCRYPTION_KEY")
	}
	codec, err := connect.Encryption(a.cli.EncryptionKey)
	if err != nil {
		return usage("SLUICE_ENCRYPTION_KEY: %v", err)
	}
	if len(s.Origins) == 0 {
		s.Origins = []string{a.cli.UIAddress}
	}
	server := &http.Server{
		Addr:              s.Address,
		Handler:           allowOrigins(s.Origins, converter.NewPayloadCodecHTTPHandler(codec)),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() {
		<-a.ctx.Done()
		_ = server.Close() // the program ends; there is nobody to tell
	}()
	a.note("codec server on http://%s", s.Address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// allowOrigins answers a browser's preflight and lets only the named origins
// read what next decodes.
func allowOrigins(origins []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		for _, allowed := range origins {
			if origin == allowed {
				w.Header().Set("Access-Control-Allow-Origin", origin)
				w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
				w.Header().Set("Access-Control-Allow-Methods", "POST")
			}
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
