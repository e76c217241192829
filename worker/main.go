// Command worker runs Sluice's workflows and activities. It builds the clients
// from flags and environment, checks that the namespace is set up, works until
// SIGTERM or SIGINT, and then has running activities leave their checkpoints.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"go.uber.org/zap"

	"sluice"
	"sluice/internal/connect"
)

func main() {
	var c sluice.Config
	kong.Parse(&c,
		kong.Name("worker"),
		kong.Description("Runs Sluice's workflows and activities. Temporal is found by the standard TEMPORAL_* variables and profile file, AWS by the SDK's default chain."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(exitUsage),
	)
	c.Conceal()
	logger, err := connect.Logger(c.Config, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(2)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if err := run(context.Background(), c, logger, signals); err != nil {
		logger.Error("worker ended", zap.Error(err))
		os.Exit(1)
	}
}

// exitUsage makes every refusal of flags and environment the exit status 2.
func exitUsage(code int) {
	if code != 0 {
		code = 2
	}
	os.Exit(code)
}

// errSecondSignal ends the program at once.
var errSecondSignal = errors.New("second signal: ended without waiting for activities")

// run works until the first signal; it returns when running activities have
// ended, at the latest after the stop timeout, or on a second signal.
func run(ctx context.Context, c sluice.Config, logger *zap.Logger, signals <-chan os.Signal) error {
	health, metrics, err := newHealth()
	if err != nil {
		return err
	}
	if err := health.serve(c.MetricsAddress); err != nil {
		return fmt.Errorf("SLUICE_METRICS_ADDRESS: %w", err)
	}
	hooks := sluice.Hooks{Logger: logger, Metrics: metrics, Calls: health.polls.intercept}
	clients, err := sluice.Connect(ctx, c, hooks)
	if err != nil {
		return err
	}
	defer clients.Temporal.Close()
	tellFound(ctx, c, clients, logger)
	if !c.SkipSetupCheck {
		if err := clients.CheckSetup(ctx); err != nil {
			return err
		}
	}
	service := sluice.NewWorker(c, clients, hooks)
	if err := service.Start(); err != nil {
		return err
	}
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	health.registry.MustRegister(newSuspendedRequests(clients))
	reach := newReach(c, clients, logger)
	health.reach.Store(reach)
	health.running.Store(true)
	go reach.watch(watching)
	logger.Info("worker ready", zap.String("taskQueue", c.TaskQueue), zap.String("namespace", clients.Namespace))

	received := <-signals
	health.running.Store(false)
	unwatch()
	logger.Info("worker stopping", zap.String("signal", received.String()), zap.Duration("stopTimeout", c.StopTimeout))
	stopped := make(chan struct{})
	go func() {
		service.Stop(ctx)
		close(stopped)
	}()
	select {
	case <-stopped:
		logger.Info("worker stopped")
		return health.close(ctx)
	case <-signals:
		return errSecondSignal
	}
}
