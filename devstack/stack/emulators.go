package stack

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"

	"sluice/devstack/process"
)

// part is a child of the stack and where it listens.
type part struct {
	process *process.Process
	address string // host:port
	ui      string // Temporal's Web UI
	metrics string // Temporal's own, as Prometheus reads them
	ports   []int  // Temporal's, of all of them
	// Ended by us: nothing to report.
	expected atomic.Bool
}

// Each emulator prints its address; none is told a port, so none can be taken.
var (
	listening        = regexp.MustCompile(`(?m)^listening (127\.0\.0\.1:\d+)`)
	azuriteListening = regexp.MustCompile(`successfully listens on http://(127\.0\.0\.1:\d+)`)
)

//go:embed serve.js
var serveScript string

// startNodeEmulator runs dynalite or kinesalite.
func startNodeEmulator(ctx context.Context, cfg Config, modules, name string) (*part, error) {
	options := map[string]any{}
	for _, table := range []string{"createTableMs", "deleteTableMs", "updateTableMs"} {
		options[table] = 0
	}
	for _, stream := range []string{"createStreamMs", "deleteStreamMs", "updateStreamMs"} {
		options[stream] = 0
	}
	options["shardLimit"] = 500
	if cfg.Data != "" {
		options["path"] = filepath.Join(cfg.Data, name)
	}
	encoded, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	script := filepath.Join(cfg.State, name+".js")
	if err := os.WriteFile(script, []byte(serveScript), 0o644); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return startEmulator(ctx, process.Spec{
		Name: name,
		Path: "node",
		Args: []string{script, name, string(encoded)},
		Env:  []string{"NODE_PATH=" + modules},
		Log:  logFile(cfg, name),
	}, listening)
}

// azureAccount is the storage account that the Azure queue emulator knows. Its
// key is made anew at each start and stands only in the environment file.
type azureAccount struct{ name, key string }

func newAzureAccount() azureAccount {
	key := make([]byte, 48)
	_, _ = rand.Read(key) // never fails
	return azureAccount{"sluice", base64.StdEncoding.EncodeToString(key)}
}

func (a azureAccount) connectionString(endpoint string) string {
	return fmt.Sprintf("DefaultEndpointsProtocol=http;AccountName=%s;AccountKey=%s;QueueEndpoint=%s/%s;",
		a.name, a.key, endpoint, a.name)
}

func startAzurite(ctx context.Context, cfg Config, modules string, account azureAccount) (*part, error) {
	args := []string{filepath.Join(modules, "azurite/dist/src/queue/main.js"), "--queueHost", "127.0.0.1",
		"--queuePort", "0", "--silent", "--disableTelemetry", "--skipApiVersionCheck"}
	if cfg.Data == "" {
		args = append(args, "--inMemoryPersistence")
	} else {
		args = append(args, "--location", filepath.Join(cfg.Data, "azurite"))
	}
	return startEmulator(ctx, process.Spec{
		Name: "azurite",
		Path: "node",
		Args: args,
		Env:  []string{"AZURITE_ACCOUNTS=" + account.name + ":" + account.key},
		Log:  logFile(cfg, "azurite"),
	}, azuriteListening)
}

// startKumo runs kumo, which is compiled into this program, as a process of its
// own: it keeps its services in variables of the process and logs to standard
// output, and so neither disturbs the other.
func startKumo(ctx context.Context, cfg Config) (*part, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("kumo: %w", err)
	}
	var env []string
	if cfg.Data != "" {
		env = append(env, "KUMO_DATA_DIR="+filepath.Join(cfg.Data, "kumo"))
	}
	return startEmulator(ctx, process.Spec{Name: "kumo", Path: self, Args: []string{"kumo"}, Env: env, Log: logFile(cfg, "kumo")}, listening)
}

func startEmulator(ctx context.Context, spec process.Spec, says *regexp.Regexp) (*part, error) {
	child, err := process.Start(spec)
	if err != nil {
		return nil, err
	}
	address, err := child.AwaitLine(ctx, says)
	if err != nil {
		child.Kill()
		return nil, err
	}
	return &part{process: child, address: address}, nil
}

func logFile(cfg Config, name string) string { return filepath.Join(cfg.State, "logs", name+".log") }
