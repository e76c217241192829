package guard

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Service names an emulated service, as faults and counters do.
type Service string

// The services behind the guard.
const (
	DynamoDB Service = "dynamodb"
	Kinesis  Service = "kinesis"
	S3       Service = "s3"
	SQS      Service = "sqs"
	AzQueue  Service = "azqueue"
)

// Config says what stands behind the guard.
type Config struct {
	Upstreams map[Service]string // host:port
}

// A Guard is a set of proxies.
type Guard struct {
	servers map[string]*http.Server
	urls    map[string]string
}

// Start opens the proxies and the admin address on free ports of 127.0.0.1.
func Start(cfg Config) (*Guard, error) {
	g := &Guard{servers: map[string]*http.Server{}, urls: map[string]string{}}
	for service, address := range cfg.Upstreams {
		proxy := &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(&url.URL{Scheme: "http", Host: address})
				r.Out.Host = r.In.Host
			},
			Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		}
		if err := g.serve(string(service), proxy); err != nil {
			g.Close()
			return nil, err
		}
	}
	if err := g.serve("admin", http.NotFoundHandler()); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

func (g *Guard) serve(name string, handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler}
	g.servers[name], g.urls[name] = server, "http://"+listener.Addr().String()
	go func() { _ = server.Serve(listener) }()
	return nil
}

// URL is where a service's clients connect.
func (g *Guard) URL(s Service) string { return g.urls[string(s)] }

// AdminURL is where faults, limits and counters are.
func (g *Guard) AdminURL() string { return g.urls["admin"] }

// Close ends every proxy.
func (g *Guard) Close() {
	for _, server := range g.servers {
		_ = server.Close()
	}
}
