package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sluice/devstack/delivery"
	"sluice/devstack/guard"
	"sluice/devstack/process"
)

// stopGrace is how long a part may take to end by itself.
const stopGrace = 5 * time.Second

// A Stack is a running dev stack.
type Stack struct {
	cfg   Config
	log   io.Writer
	lock  *process.Lock
	parts []*part
	guard *guard.Guard
	env   Env

	delivery *delivery.Manager

	restarts sync.Mutex
	temporal *part
	ended    chan error
}

// Start brings every part up, writes the environment file, and returns when all
// of it is ready. Progress goes to log in lines. An error names the part that
// failed with its last output, and nothing is left running.
func Start(ctx context.Context, cfg Config, log io.Writer) (_ *Stack, err error) {
	lock, err := process.Acquire(cfg.State)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	s := &Stack{cfg: cfg, log: log, lock: lock, ended: make(chan error, 1)}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	// What an aborted run left is nobody's: the lock is ours.
	if err := os.Remove(s.EnvFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.ReadyWithin, fmt.Errorf("not up within %s", cfg.ReadyWithin))
	defer cancel()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := s.env.write(s.EnvFile(), programs(s.env.Map()["TEMPORAL_CLI"])...); err != nil {
		return nil, err
	}
	s.watch()
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	temporal, err := findTemporal(s.cfg.Temporal)
	if err != nil {
		return err
	}
	modules, err := FindModules(s.cfg.Modules)
	if err != nil {
		return err
	}
	if s.cfg.Data != "" {
		if err := os.MkdirAll(s.cfg.Data, 0o755); err != nil {
			return err
		}
	}
	known := recall(s.cfg)
	account := newAzureAccount()
	started, err := s.startParts(ctx, map[string]func(context.Context) (*part, error){
		"temporal":   func(ctx context.Context) (*part, error) { return startTemporal(ctx, s.cfg, temporal, known.Temporal) },
		"dynalite":   func(ctx context.Context) (*part, error) { return startNodeEmulator(ctx, s.cfg, modules, "dynalite") },
		"kinesalite": func(ctx context.Context) (*part, error) { return startNodeEmulator(ctx, s.cfg, modules, "kinesalite") },
		"azurite":    func(ctx context.Context) (*part, error) { return startAzurite(ctx, s.cfg, modules, account) },
		"kumo":       func(ctx context.Context) (*part, error) { return startKumo(ctx, s.cfg) },
	})
	if err != nil {
		return err
	}
	s.temporal = started["temporal"]
	s.guard, err = guard.Start(guard.Config{Limits: s.cfg.limits(), Addresses: known.Guard, Upstreams: map[guard.Service]string{
		guard.DynamoDB: started["dynalite"].address,
		guard.Kinesis:  started["kinesalite"].address,
		guard.S3:       started["kumo"].address,
		guard.SQS:      started["kumo"].address,
		guard.AzQueue:  started["azurite"].address,
	}})
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	if err := remember(s.cfg, addresses{s.temporal.ports, s.guard.Addresses()}); err != nil {
		return err
	}
	s.guard.Handle("POST /temporal/restart", http.HandlerFunc(s.serveRestart))
	s.env = environment(s.cfg, started, temporal, s.guard, account)
	return s.startDelivery(ctx)
}

// startDelivery makes deliveries possible, and the demo's things.
func (s *Stack) startDelivery(ctx context.Context) error {
	clients, err := s.env.clients()
	if err != nil {
		return err
	}
	s.delivery = &delivery.Manager{Kinesis: clients.Kinesis, S3: clients.S3, SQS: clients.SQS}
	if s.cfg.Data != "" {
		s.delivery.Checkpoints = filepath.Join(s.cfg.Data, "delivery")
	}
	s.guard.Handle("/delivery", s.delivery)
	if !s.cfg.Demo {
		return nil
	}
	demo, err := DefaultDemo().Make(ctx, clients, s.delivery)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	s.env = append(s.env, demo...)
	return nil
}

// startParts starts parts side by side and answers them by name, or the first
// failure; then the others are stopped without waiting for their readiness.
func (s *Stack) startParts(ctx context.Context, starts map[string]func(context.Context) (*part, error)) (map[string]*part, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu      sync.Mutex
		wg      sync.WaitGroup
		started = map[string]*part{}
		failure error
		began   = time.Now()
	)
	for name, start := range starts {
		wg.Go(func() {
			p, err := start(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				if failure == nil {
					failure = err
				}
				cancel(errors.New("another part failed"))
				return
			}
			started[name] = p
			s.parts = append(s.parts, p)
			fmt.Fprintf(s.log, "devstack: %s is ready on %s after %s\n", name, p.address, time.Since(began).Round(10*time.Millisecond))
		})
	}
	wg.Wait()
	return started, failure
}

// watch reports the first part that ends though nobody stopped it.
func (s *Stack) watch() {
	for _, p := range s.parts {
		s.watchPart(p)
	}
}

func (s *Stack) watchPart(p *part) {
	go func() {
		<-p.process.Done()
		if p.expected.Load() {
			return
		}
		select {
		case s.ended <- p.process.Failed():
		default:
		}
	}()
}

// Ended receives the failure of a part that ended by itself.
func (s *Stack) Ended() <-chan error { return s.ended }

// Env is what clients need to find the stack.
func (s *Stack) Env() Env { return s.env }

// EnvFile is the shell script that exports Env.
func (s *Stack) EnvFile() string { return filepath.Join(s.cfg.State, "env") }

// Stop ends every part and gives the state directory back.
func (s *Stack) Stop() {
	_ = os.Remove(s.EnvFile())
	if s.delivery != nil {
		s.delivery.Stop(s.deliveryGrace())
	}
	if s.guard != nil {
		s.guard.Close()
	}
	s.restarts.Lock()
	defer s.restarts.Unlock()
	var wg sync.WaitGroup
	for _, p := range s.parts {
		wg.Go(func() { p.process.Stop(stopGrace) })
	}
	wg.Wait()
	s.lock.Release()
}

// deliveryGrace is how long the last buffers may take to be written: nobody will
// read what is only in memory.
func (s *Stack) deliveryGrace() time.Duration {
	if s.cfg.Data == "" {
		return 0
	}
	return stopGrace
}
