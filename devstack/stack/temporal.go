package stack

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sluice/devstack/process"
)

// searchAttributes are the ones that Sluice's workflows set, all keywords.
var searchAttributes = []string{"SluiceState", "SluiceType", "SluiceTarget", "SluiceTrouble"}

// dynamicConfig makes a development server fit for tests: timers that fire
// within tens of milliseconds instead of a second, priorities and fairness, and
// rates that a sweep over all workflows does not run into.
var dynamicConfig = []string{
	`history.timerProcessorMaxTimeShift="10ms"`,
	`matching.useNewMatcher=true`,
	`matching.enableFairness=true`,
	`frontend.namespaceRPS=20000`,
	`frontend.namespaceRPS.visibility=1000`,
	`frontend.namespaceCount=5000`,
	`frontend.WorkerHeartbeatsEnabled=true`,
	`frontend.ListWorkersEnabled=true`,
	`system.enableActivityEagerExecution=true`,
	`system.forceSearchAttributesCacheRefreshOnRead=true`,
}

// portTries is how often other ports are chosen when somebody else took one
// between our look and the server's start.
const portTries = 3

// temporalPorts are those of the server, of its Web UI and of its metrics.
const temporalPorts = 3

func startTemporal(ctx context.Context, cfg Config, binary string, wished []int) (temporal *part, err error) {
	for try := range portTries {
		ports := wished
		if try > 0 || len(ports) != temporalPorts {
			if ports, err = freePorts(temporalPorts); err != nil {
				return nil, fmt.Errorf("temporal: %w", err)
			}
		}
		if temporal, err = tryTemporal(ctx, cfg, binary, ports); err == nil || !strings.Contains(err.Error(), "address already in use") {
			return temporal, err
		}
	}
	return nil, err
}

// serverEnv trades memory, of which a dev server uses little, for the tenth of its
// time that the garbage collector takes.
var serverEnv = []string{"GOGC=400"}

func tryTemporal(ctx context.Context, cfg Config, binary string, ports []int) (*part, error) {
	address, ui, metrics := local(ports[0]), local(ports[1]), local(ports[2])
	args := []string{"server", "start-dev", "--ip", "127.0.0.1", "--port", strconv.Itoa(ports[0]),
		"--metrics-port", strconv.Itoa(ports[2]), "--namespace", cfg.Namespace, "--log-level", "warn"}
	if cfg.UI {
		args = append(args, "--ui-ip", "127.0.0.1", "--ui-port", strconv.Itoa(ports[1]))
	} else {
		args, ui = append(args, "--headless"), ""
	}
	for _, name := range searchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	for _, setting := range append(dynamicConfig, cfg.Dynamic...) {
		args = append(args, "--dynamic-config-value", setting)
	}
	if cfg.Data != "" {
		// Without fsync a write survives a killed process, not a power cut.
		args = append(args, "--db-filename", filepath.Join(cfg.Data, "temporal.db"),
			"--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=off")
	}
	child, err := process.Start(process.Spec{Name: "temporal", Path: binary, Args: args, Env: serverEnv, Log: logFile(cfg, "temporal")})
	if err != nil {
		return nil, err
	}
	err = child.Await(ctx, func(ctx context.Context) error { return temporalReady(ctx, binary, address, ui, cfg.Namespace) })
	if err != nil {
		child.Kill()
		return nil, err
	}
	return &part{process: child, address: address, ui: ui, metrics: metrics, ports: ports}, nil
}

// temporalReady asks what workflows will ask: a query on a search attribute
// answers only once the server, the namespace and the attributes are there. The
// Web UI opens a moment later.
func temporalReady(ctx context.Context, binary, address, ui, namespace string) error {
	for _, addr := range []string{address, ui} {
		if addr == "" {
			continue
		}
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		_ = conn.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	query := searchAttributes[len(searchAttributes)-1] + `="none"`
	out, err := exec.CommandContext(ctx, binary, "workflow", "count", "--address", address, "--namespace", namespace,
		"--query", query).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// freePorts answers ports that nobody listens on at this moment.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
