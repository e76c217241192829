package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sluice/devstack/process"
	"sluice/devstack/stack"
)

// demoCommand runs the main job on a stack of its own.
type demoCommand struct {
	stack.Config
	Keep bool `help:"Leave everything up until Ctrl-C."`
}

// ingestion is the input and outcome of the demo's run, as far as they are told.
type ingestion struct {
	Objects    int64   `json:"objects"`
	Records    int64   `json:"records"`
	Delivered  int64   `json:"delivered"`
	Missing    int64   `json:"missing"`
	Duplicated int64   `json:"duplicated"`
	Seconds    float64 `json:"seconds"`
}

const (
	demoID          = "ingest/demo"
	workerReadyTime = time.Minute
	workerStopTime  = 40 * time.Second // above the worker's own stop timeout
)

func (c *demoCommand) Run() error {
	c.State = filepath.Join(c.State, "demo") // beside a stack of `make up`
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	say("starting Temporal, the emulators and the delivery stand-in")
	s, err := stack.Start(ctx, c.Config, os.Stderr)
	if err != nil {
		return err
	}
	defer s.Stop()
	d := demo{env: s.Env().Map(), logs: filepath.Join(c.State, "logs")}
	defer d.close()
	if err := d.ingest(ctx); err != nil || !c.Keep {
		say("stopping everything")
		return err
	}
	say("everything stays up until Ctrl-C; `. %s` in another shell to use it", s.EnvFile())
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.Ended():
		return err
	}
}

// demo is the run on a stack that is up.
type demo struct {
	env    map[string]string
	logs   string
	worker *process.Process
}

func (d *demo) ingest(ctx context.Context) error {
	say("putting flights and weather records into S3")
	if err := d.program(ctx, os.Stderr, "devstack", "seed"); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	say("starting a worker")
	if err := d.startWorker(ctx); err != nil {
		return err
	}
	say("ingesting")
	var out bytes.Buffer
	ended := d.program(ctx, &out, "starter", "ingest", "run", "--wait", "--id", demoID,
		"--bucket", d.env["SLUICE_DEMO_BUCKET"], "--queue", d.env["SLUICE_DEMO_QUEUE"], "--stream", d.env["SLUICE_DEMO_STREAM"],
		"--table", d.env["SLUICE_DEMO_TABLE"], "--delivery-bucket", d.env["SLUICE_DEMO_DELIVERY_BUCKET"],
		"--delivery-notifications", d.env["SLUICE_DEMO_NOTIFICATIONS"])
	if out.Len() == 0 {
		return fmt.Errorf("ingest: %w; the worker's log is in %s", ended, d.logs)
	}
	var result ingestion
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return fmt.Errorf("result of ingest: %w", err)
	}
	d.tell(result)
	return ended // exit status 1 when records are missing
}

// demoKinds are the workflows that the main job is made of, by what they did.
var demoKinds = []struct{ did, workflow string }{
	{"claimed the tasks", "ClaimTasks"},
	{"streamed objects", "Request"},
	{"shared capacity", "Throughput"},
	{"counted delivery", "CountObjects"},
	{"found it quiet", "Quiescence"},
}

// tell prints the result, and where to see more.
func (d *demo) tell(r ingestion) {
	fmt.Printf("objects %d\nrecords %d\ndelivered %d\nmissing %d\nduplicated %d\nseconds %.1f\n",
		r.Objects, r.Records, r.Delivered, r.Missing, r.Duplicated, r.Seconds)
	if ui := d.env["SLUICE_UI_ADDRESS"]; ui != "" {
		list := fmt.Sprintf("%s/namespaces/%s/workflows", ui, d.env["TEMPORAL_NAMESPACE"])
		fmt.Printf("web ui %s/%s\n", list, url.PathEscape(demoID))
		for _, kind := range demoKinds {
			fmt.Printf("  %-18s %s?query=%s\n", kind.did, list, url.QueryEscape("WorkflowType='"+kind.workflow+"'"))
		}
	}
	fmt.Printf("command %s workflow result --address %s --workflow-id %s\n", d.env["TEMPORAL_CLI"], d.env["TEMPORAL_ADDRESS"], demoID)
}

// startWorker returns when the worker polls.
func (d *demo) startWorker(ctx context.Context) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	d.env["SLUICE_METRICS_ADDRESS"] = address
	d.worker, err = process.Start(process.Spec{
		Name: "worker", Path: sibling("worker"), Env: d.environment(), Log: filepath.Join(d.logs, "worker.log"),
	})
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, workerReadyTime)
	defer cancel()
	return d.worker.Await(within, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
}

// close stops the worker as a deployment would.
func (d *demo) close() {
	if d.worker != nil {
		d.worker.Stop(workerStopTime)
	}
}

// program runs a program of ours to its end; what it says to people is shown.
func (d *demo) program(ctx context.Context, stdout io.Writer, name string, args ...string) error {
	return process.Foreground(ctx, process.Spec{Name: name, Path: sibling(name), Args: args, Env: d.environment()}, stdout, os.Stderr)
}

func (d *demo) environment() []string {
	var env []string
	for name, value := range d.env {
		env = append(env, name+"="+value)
	}
	return append(env, "SLUICE_TASK_QUEUE=sluice")
}

// sibling is a program beside this one.
func sibling(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

func say(format string, args ...any) {
	fmt.Fprintln(os.Stderr, "demo: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
}
