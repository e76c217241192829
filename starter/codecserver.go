package main

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/sdk/converter"

	"sluice/internal/connect"
	"sluice/internal/secret"
)

// codecServerCmd decodes payloads for the Web UI and the temporal command, so
// that people who may read them can.
type codecServerCmd struct {
	Address string   `help:"Address to serve on." default:"127.0.0.1:8234"`
	Hosts   []string `help:"Names (host or host:port) by which it may be asked, beside its own address: those of a proxy in front of it." placeholder:"HOST"`
	Origins []string `help:"Origins of the Web UI that may ask; by default that of --ui-address."`
	Token   string   `help:"Bearer token that whoever asks has to send; required where the address is not this machine's own." env:"SLUICE_CODEC_TOKEN" placeholder:"TOKEN"`
}

// maxCodecRequest bounds what is read of a request: a page of payloads, in base64.
const maxCodecRequest = 64 << 20

func (s codecServerCmd) Run(a *app) error {
	if a.cli.EncryptionKey == "" {
		return usage("codec-server needs SLUICE_ENCRYPTION_KEY")
	}
	connect.ConcealKeys(a.cli.EncryptionKey)
	secret.Add(s.Token)
	codec, err := connect.Encryption(a.cli.EncryptionKey)
	if err != nil {
		return usage("SLUICE_ENCRYPTION_KEY: %v", err)
	}
	if len(s.Origins) == 0 {
		s.Origins = []string{a.cli.UIAddress}
	}
	listener, err := net.Listen("tcp", s.Address) //nolint:noctx // done at once
	if err != nil {
		return usage("--address: %v", err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return usage("--address: %s is no TCP address", s.Address)
	}
	if s.Token == "" && !address.IP.IsLoopback() {
		_ = listener.Close()
		return usage("--address: %s can be reached from elsewhere: set SLUICE_CODEC_TOKEN, or serve on 127.0.0.1", s.Address)
	}
	server := &http.Server{
		Handler:           s.guard(address, converter.NewPayloadCodecHTTPHandler(codec)),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
	}
	go func() {
		<-a.ctx.Done()
		_ = server.Close() // the program ends; there is nobody to tell
	}()
	a.note("codec server on http://%s", address)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// guard lets only those ask what next decodes who may. Any page that somebody has open
// can send requests to this machine: by a name of its own that leads here, which its
// Host tells, or as itself, which its Origin tells. Neither is answered.
func (s codecServerCmd) guard(address *net.TCPAddr, next http.Handler) http.Handler {
	hosts := append(ownHosts(address), s.Hosts...)
	next = http.MaxBytesHandler(next, maxCodecRequest)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case !knownHost(hosts, r.Host):
			http.Error(w, fmt.Sprintf("host %q is not one of this server's; name it by --hosts", r.Host), http.StatusMisdirectedRequest)
			return
		case origin != "" && !contains(s.Origins, origin):
			http.Error(w, fmt.Sprintf("origin %q may not ask; name it by --origins", origin), http.StatusForbidden)
			return
		}
		if origin != "" {
			w.Header().Set("Vary", "Origin")
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
			w.Header().Set("Access-Control-Allow-Methods", "POST")
		}
		switch {
		case r.Method == http.MethodOptions:
			w.WriteHeader(http.StatusNoContent) // a browser asks without the token whether it may
		case !s.authorized(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the bearer token is missing or another one", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s codecServerCmd) authorized(r *http.Request) bool {
	if s.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "bearer") &&
		subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(s.Token)) == 1
}

// ownHosts are the names of an address on this machine, with its port.
func ownHosts(address *net.TCPAddr) []string {
	port := fmt.Sprint(address.Port)
	hosts := []string{net.JoinHostPort("localhost", port), net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port)}
	if !address.IP.IsUnspecified() {
		hosts = append(hosts, address.String())
	}
	return hosts
}

// knownHost reports that a request's Host is one of the names; a name without a port
// stands for itself at any port.
func knownHost(names []string, host string) bool {
	bare, _, err := net.SplitHostPort(host)
	if err != nil {
		bare = host
	}
	return contains(names, host) || contains(names, bare)
}

// contains is without regard to case, as names and origins are.
func contains(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}
