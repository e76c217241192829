// Package codecguard decides who may ask a codec server on this machine.
package codecguard

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// maxRequest bounds what is read of a request: a page of payloads, in base64.
const maxRequest = 64 << 20

// A Guard stands in front of a codec server.
type Guard struct {
	Address *net.TCPAddr // that it serves on
	Hosts   []string     // by which it may be asked beside its own address
	Origins []string     // of pages that may ask
	Token   string       // that whoever asks has to send, "" for none
}

// Handler lets only those ask what next decodes who may. Any page that somebody has open
// can send requests to this machine: by a name of its own that leads here, which its
// Host tells, or as itself, which its Origin tells. Neither is answered.
func (g Guard) Handler(next http.Handler) http.Handler {
	hosts := append(ownHosts(g.Address), g.Hosts...)
	next = http.MaxBytesHandler(next, maxRequest)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case !knownHost(hosts, r.Host):
			http.Error(w, fmt.Sprintf("host %q is not one of this server's; name it by --hosts", r.Host), http.StatusMisdirectedRequest)
			return
		case origin != "" && !contains(g.Origins, origin):
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
		case !g.authorized(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the bearer token is missing or another one", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (g Guard) authorized(r *http.Request) bool {
	if g.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "bearer") &&
		subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(g.Token)) == 1
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
