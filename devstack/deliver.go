package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sluice/devstack/delivery"
	"sluice/devstack/seed"
	"sluice/devstack/stack"
)

type deliveryCommand struct {
	Delivery    []string `arg:"" optional:"" help:"A stream and where it goes: stream=S,bucket=B[,prefix=P][,notifications=QUEUE][,size=BYTES][,interval=5s]. None: the demo's." placeholder:"stream=S,bucket=B" sep:"none" env:"SLUICE_DELIVERIES"`
	Checkpoints string   `help:"Keep in this directory what was delivered." type:"path" env:"SLUICE_DELIVERY_CHECKPOINTS"`
	Address     string   `help:"Serve GET, POST, DELETE /delivery and GET /healthz here." env:"SLUICE_DELIVERY_ADDRESS" placeholder:"HOST:PORT"`
}

// Run delivers from and to whatever the AWS_* variables name, until it is told to
// stop. Endpoints that aren't up yet are waited for.
func (c *deliveryCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var requests []delivery.Request
	for _, text := range c.Delivery {
		request, err := delivery.ParseRequest(text)
		if err != nil {
			return err
		}
		requests = append(requests, request)
	}
	clients, err := stack.EnvironmentClients(ctx)
	if err != nil {
		return err
	}
	manager := &delivery.Manager{Kinesis: clients.Kinesis, S3: clients.S3, SQS: clients.SQS, Checkpoints: c.Checkpoints}
	defer manager.Stop(15 * time.Second)
	up := make(chan struct{})
	if c.Address != "" {
		go serveDelivery(c.Address, manager, up)
	}
	if len(requests) == 0 {
		err := persist(ctx, "demo", func() error { _, err := stack.DefaultDemo().Make(ctx, clients, manager); return err })
		if err != nil {
			return err
		}
	}
	for _, request := range requests {
		err := persist(ctx, "stream "+request.Stream, func() error { _, err := manager.Add(ctx, request); return err })
		if err != nil {
			return err
		}
	}
	close(up)
	fmt.Fprintln(os.Stderr, "devstack: delivering")
	<-ctx.Done()
	return nil
}

// persist repeats what fails until it works or ctx ends.
func persist(ctx context.Context, what string, do func() error) error {
	for {
		err := do()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(os.Stderr, "devstack: %s: %v; trying again\n", what, err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

func serveDelivery(address string, manager *delivery.Manager, up <-chan struct{}) {
	mux := http.NewServeMux()
	mux.Handle("/delivery", manager)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-up:
			fmt.Fprintln(w, "delivering")
		default:
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	if err := http.ListenAndServe(address, mux); err != nil {
		fmt.Fprintln(os.Stderr, "devstack:", err)
		os.Exit(1)
	}
}

type resourcesCommand struct{}

// Run makes the demo's things on whatever the AWS_* and AZURE_* variables name,
// and prints what `devstack up` would put into the environment file.
func (resourcesCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	clients, err := stack.EnvironmentClients(ctx)
	if err != nil {
		return err
	}
	env, err := stack.DefaultDemo().Make(ctx, clients, nil)
	if err != nil {
		return err
	}
	for _, v := range env {
		fmt.Printf("%s=%s\n", v.Name, v.Value)
	}
	return nil
}

type seedCommand struct {
	Bucket  string `help:"Bucket to fill; made if it isn't there." default:"sluice-demo" env:"SLUICE_DEMO_BUCKET"`
	Prefix  string `help:"In front of every key."`
	Flights string `help:"How many flights: 20k or 200k." default:"20k" enum:"20k,200k"`
	Modules string `help:"The node_modules directory with vega-datasets." env:"SLUICE_NODE_MODULES"`
}

// Run puts the demo's input into S3.
func (c *seedCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	modules, err := stack.FindModules(c.Modules)
	if err != nil {
		return err
	}
	objects, err := seed.Objects(modules, c.Flights)
	if err != nil {
		return err
	}
	clients, err := stack.EnvironmentClients(ctx)
	if err != nil {
		return err
	}
	if err := delivery.MakeBucket(ctx, clients.S3, c.Bucket); err != nil {
		return fmt.Errorf("bucket %s: %w", c.Bucket, err)
	}
	if err := seed.Put(ctx, clients.S3, c.Bucket, c.Prefix, objects); err != nil {
		return err
	}
	records := 0
	for _, o := range objects {
		records += o.Records
	}
	fmt.Printf("bucket %s\nprefix %s\nobjects %d\nrecords %d\n", c.Bucket, c.Prefix, len(objects), records)
	return nil
}
