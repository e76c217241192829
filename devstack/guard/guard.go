package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
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

// Config says what stands behind the guard and what its limits are at first.
type Config struct {
	Upstreams map[Service]string // host:port
	Limits    Limits
	// Addresses are wished for by Addresses' names, where they are still free.
	Addresses map[string]string
}

// A Guard is a set of proxies and their admin address.
type Guard struct {
	faults   *faults
	counters *counters
	actions  *actions
	limits   *limits
	objects  *objects
	journal  *journal
	mux      *http.ServeMux
	servers  []*http.Server
	urls     map[string]string
	wishes   map[string]string
}

// A backend is a service's rules and the way to its emulator.
type backend interface {
	// identify names a call's operation and target, and reads its body if they
	// are in there.
	identify(c *call) error
	// work carries the call out.
	work(ctx context.Context, c *call) (*answer, error)
	// refuse makes an error answer in the service's wire form.
	refuse(c *call, status int, code, message string) *answer
}

// Start opens the proxies and the admin address on free ports of 127.0.0.1.
func Start(cfg Config) (*Guard, error) {
	g := &Guard{faults: newFaults(), counters: newCounters(), actions: newActions(), limits: newLimits(cfg.Limits), journal: &journal{},
		urls: map[string]string{}, wishes: cfg.Addresses}
	g.objects = newObjects(newUpstream(cfg.Upstreams[S3]))
	for service, address := range cfg.Upstreams {
		if err := g.serve(string(service), g.proxy(service, g.backend(service, newUpstream(address)))); err != nil {
			g.Close()
			return nil, err
		}
	}
	g.mux = g.admin()
	if err := g.serve("admin", g.mux); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

func (g *Guard) backend(service Service, to *upstream) backend {
	switch service {
	case DynamoDB:
		return newDynamoDB(to, g.limits, g.counters)
	case Kinesis:
		return newKinesis(to, g.limits, g.counters)
	case S3:
		return &s3{to, g.objects}
	case SQS:
		return &sqs{to, g.objects}
	}
	return azureQueues{to}
}

func (g *Guard) serve(name string, handler http.Handler) error {
	listener, err := g.listen(name)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	g.servers, g.urls[name] = append(g.servers, server), "http://"+listener.Addr().String()
	go func() { _ = server.Serve(listener) }()
	return nil
}

func (g *Guard) listen(name string) (net.Listener, error) {
	if wish := g.wishes[name]; wish != "" {
		if listener, err := net.Listen("tcp", wish); err == nil {
			return listener, nil
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// Addresses are all addresses by service, and the admin's.
func (g *Guard) Addresses() map[string]string {
	addresses := map[string]string{}
	for name, url := range g.urls {
		addresses[name] = strings.TrimPrefix(url, "http://")
	}
	return addresses
}

// URL is where a service's clients connect.
func (g *Guard) URL(s Service) string { return g.urls[string(s)] }

// AdminURL is where faults, limits and counters are.
func (g *Guard) AdminURL() string { return g.urls["admin"] }

// Handle adds to what the admin address serves.
func (g *Guard) Handle(pattern string, handler http.Handler) { g.mux.Handle(pattern, handler) }

// Close ends every proxy at once.
func (g *Guard) Close() {
	for _, server := range g.servers {
		_ = server.Close()
	}
}

// proxy takes every call of a service through faults, counters and its rules.
func (g *Guard) proxy(service Service, b backend) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{service: service, w: w, r: r}
		if err := b.identify(c); err != nil {
			if r.Context().Err() == nil {
				b.refuse(c, http.StatusBadRequest, "SerializationException", err.Error()).write(c)
			}
			return
		}
		g.actions.note(c)
		c.faults = g.faults.match(c, service, time.Now())
		c.count = g.counters.of(service, c.operation, c.target)
		c.count(Count{Calls: 1, Faulted: c.faults.any()})
		if c.faults.before(c, b) {
			return
		}
		a, err := g.carryOut(c, b)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				b.refuse(c, http.StatusInternalServerError, "InternalFailure", fmt.Sprintf("dev stack: %s: %v", service, err)).write(c)
			}
			return
		}
		defer a.close()
		c.faults.after(c, b, a)
	})
}

// carryOut does the work, twice if a fault says so; the second answer counts.
func (g *Guard) carryOut(c *call, b backend) (*answer, error) {
	if c.faults.Duplicate {
		if err := c.keepBody(); err != nil {
			return nil, err
		}
		a, err := b.work(c.r.Context(), c)
		if err != nil {
			return nil, err
		}
		g.journal.note(c, a)
		a.close()
	}
	a, err := b.work(c.r.Context(), c)
	if err == nil {
		g.journal.note(c, a)
	}
	return a, err
}
