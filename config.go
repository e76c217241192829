package sluice

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"sluice/activities"
	"sluice/internal/connect"
	"sluice/internal/document"
	"sluice/internal/limits"
	"sluice/internal/secret"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// Config is all that a worker can be told, by flag or environment variable. kong
// reads the tags, --help prints them, and Validate reports every fault at once.
// LoadConfig reads the environment alone.
type Config struct {
	connect.Config
	Azure connect.AzureConfig `embed:"" prefix:"azure-storage-"`

	MetricsAddress string        `help:"Address (host:port) that serves /metrics, /healthz and /readyz; empty serves none." env:"SLUICE_METRICS_ADDRESS" placeholder:"HOST:PORT"`
	Deployment     string        `help:"Worker deployment name; with it the worker takes part in worker versioning." env:"SLUICE_DEPLOYMENT"`
	BuildID        string        `help:"Build ID within the deployment." env:"SLUICE_BUILD_ID"`
	StopTimeout    time.Duration `help:"How long running activities may take to leave a checkpoint after SIGTERM." env:"SLUICE_STOP_TIMEOUT" default:"30s"`
	WaitHeartbeat  time.Duration `help:"Between the heartbeats of activities that wait, once nothing has happened for ten minutes: 10s to 5m; a claimer half of it." env:"SLUICE_WAIT_HEARTBEAT" default:"60s"`
	// CalmAfter is those ten minutes, which measurements shorten.
	CalmAfter      time.Duration `hidden:"" env:"SLUICE_CALM_AFTER" default:"10m"`
	SkipSetupCheck bool          `help:"Start although the search attributes are not registered." env:"SLUICE_SKIP_SETUP_CHECK"`
	SuspendOnStop  bool          `help:"On SIGTERM, first suspend the requests whose jobs run here." env:"SLUICE_SUSPEND_ON_STOP"`

	HTTPAllow        []string `help:"Origins (https://host[:port]) that HTTP.Call and a quiescence's http actions may call." env:"SLUICE_HTTP_ALLOW" placeholder:"ORIGIN"`
	TaskServiceURL   string   `help:"Origin of the task service to which the bearer token is sent." env:"SLUICE_TASK_SERVICE_URL" placeholder:"URL"`
	TaskServiceToken string   `help:"Bearer token for the task service." env:"SLUICE_TASK_SERVICE_TOKEN" placeholder:"TOKEN"`

	Throughput ThroughputConfig `embed:"" prefix:"throughput-"`
	Kinesis    KinesisConfig    `embed:"" prefix:"kinesis-"`
}

// ThroughputConfig is of the budgets that the worker shares with others.
type ThroughputConfig struct {
	connect.ThroughputConfig
	Lease time.Duration `help:"How long a lease of a share that stays alike may be, 8s to 2m: longer ones cost less, and follow changes later." env:"SLUICE_THROUGHPUT_LEASE" default:"30s"`
}

// KinesisConfig sizes the worker's producers, one a stream.
type KinesisConfig struct {
	BatchSize      int           `help:"Records in a PutRecords request, 1 to 500." env:"SLUICE_KINESIS_BATCH_SIZE" default:"500"`
	RequestBytes   int           `help:"Bytes of keys and data in a request, up to 10 MiB." env:"SLUICE_KINESIS_REQUEST_BYTES" default:"5242880"`
	RecordBytes    int           `help:"Bytes of key and data of a record, up to 10 MiB where the stream allows it." env:"SLUICE_KINESIS_RECORD_BYTES" default:"1048576"`
	FlushInterval  time.Duration `help:"Longest that a record lingers for others; 0 or at least 50ms." env:"SLUICE_KINESIS_FLUSH_INTERVAL" default:"100ms"`
	BufferSize     int           `help:"Records that wait or are in flight, by stream; 0: 10,000, or as many as keep the connections busy." env:"SLUICE_KINESIS_BUFFER_SIZE" default:"0"`
	BufferBytes    int           `help:"Memory that records take which wait or are in flight, by stream." env:"SLUICE_KINESIS_BUFFER_BYTES" default:"67108864"`
	MaxConnections int           `help:"Requests in flight, by stream; 0: 8, or as many as the latency calls for, up to 32." env:"SLUICE_KINESIS_MAX_CONNECTIONS" default:"0"`
	RequestTimeout time.Duration `help:"Longest wait for an answer; the request's records are repeated then." env:"SLUICE_KINESIS_REQUEST_TIMEOUT" default:"6s"`
	Protocol       string        `help:"How records are written to the service: json or cbor. CBOR takes less of the processor and the network; an endpoint that does not take it gets JSON." env:"SLUICE_KINESIS_PROTOCOL" default:"json" enum:"json,cbor"`
}

const mebibyte = 1 << 20

// LoadConfig reads the configuration from the environment, as the worker program does:
// SLUICE_… and AZURE_STORAGE_… variables, with the defaults of those that are not set.
// Temporal's own (TEMPORAL_…) and AWS's are read where clients are made. All faults are
// told in one error.
func LoadConfig() (Config, error) {
	var c Config
	parser, err := kong.New(&c, kong.Name("sluice"))
	if err != nil {
		return c, err
	}
	if _, err := parser.Parse(nil); err != nil {
		return c, err
	}
	c.Conceal()
	return c, nil
}

// Validate reports all faults of the configuration; kong calls it.
func (c *Config) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(c.TaskQueue != "", "SLUICE_TASK_QUEUE: must not be empty")
	var queue document.Faults
	limits.CheckTaskQueue(&queue, "SLUICE_TASK_QUEUE", c.TaskQueue)
	if len(c.TaskQueue) <= limits.Name {
		limits.CheckTaskQueue(&queue, "SLUICE_TASK_QUEUE and what is added for Azure queues", wire.AzureTaskQueue(c.TaskQueue))
	}
	faults = append(faults, queue.Err())
	check(c.StopTimeout >= 0, "SLUICE_STOP_TIMEOUT: must not be negative")
	check(c.WaitHeartbeat >= 10*time.Second && c.WaitHeartbeat <= 5*time.Minute, "SLUICE_WAIT_HEARTBEAT: must be between 10s and 5m, not %s", c.WaitHeartbeat)
	check((c.Deployment == "") == (c.BuildID == ""), "SLUICE_DEPLOYMENT and SLUICE_BUILD_ID go together")
	if c.EncryptionKey != "" {
		if _, err := connect.Encryption(c.EncryptionKey); err != nil {
			faults = append(faults, fmt.Errorf("SLUICE_ENCRYPTION_KEY: %w", err))
		}
	}
	for _, origin := range c.HTTPAllow {
		check(isOrigin(origin), "SLUICE_HTTP_ALLOW: %q is not an origin such as https://example.com", withoutUser(origin))
	}
	check(c.TaskServiceToken == "" || isOrigin(c.TaskServiceURL), "SLUICE_TASK_SERVICE_TOKEN: needs SLUICE_TASK_SERVICE_URL, the origin it is sent to")

	check(c.Throughput.Lease >= throughput.LeaseTime && c.Throughput.Lease <= throughput.MaxSteady,
		"SLUICE_THROUGHPUT_LEASE: must be between %v and %v, not %v", throughput.LeaseTime, throughput.MaxSteady, c.Throughput.Lease)
	check(c.Throughput.Owners() != c.TaskQueue, "SLUICE_THROUGHPUT_TASK_QUEUE: must be another queue than SLUICE_TASK_QUEUE")
	check(c.Throughput.Owners() != wire.AzureTaskQueue(c.TaskQueue), "SLUICE_THROUGHPUT_TASK_QUEUE: must be another queue than %s, which is for Azure queues", wire.AzureTaskQueue(c.TaskQueue))

	k := c.Kinesis
	check(k.BatchSize >= 1 && k.BatchSize <= 500, "SLUICE_KINESIS_BATCH_SIZE: must be between 1 and 500, not %d", k.BatchSize)
	check(k.RequestBytes >= 1 && k.RequestBytes <= 10*mebibyte, "SLUICE_KINESIS_REQUEST_BYTES: must be between 1 and 10 MiB, not %d", k.RequestBytes)
	check(k.RecordBytes >= 1 && k.RecordBytes <= 10*mebibyte, "SLUICE_KINESIS_RECORD_BYTES: must be between 1 and 10 MiB, not %d", k.RecordBytes)
	check(k.RecordBytes <= k.RequestBytes, "SLUICE_KINESIS_RECORD_BYTES: %d is more than a request of SLUICE_KINESIS_REQUEST_BYTES holds, %d", k.RecordBytes, k.RequestBytes)
	check(k.RequestTimeout >= time.Second, "SLUICE_KINESIS_REQUEST_TIMEOUT: must be at least 1s, not %s", k.RequestTimeout)
	check(k.FlushInterval == 0 || k.FlushInterval >= 50*time.Millisecond, "SLUICE_KINESIS_FLUSH_INTERVAL: must be 0 or at least 50ms, not %s", k.FlushInterval)
	check(k.BufferSize >= 0, "SLUICE_KINESIS_BUFFER_SIZE: must be at least 1, or 0 to follow the connections, not %d", k.BufferSize)
	check(k.FlushInterval != 0 || k.BufferSize == 0 || k.BufferSize >= k.BatchSize, "SLUICE_KINESIS_BUFFER_SIZE: %d is below the batch size of %d, and without a flush interval a batch would wait for ever", k.BufferSize, k.BatchSize)
	check(k.BufferBytes >= k.RecordBytes, "SLUICE_KINESIS_BUFFER_BYTES: must hold a record of SLUICE_KINESIS_RECORD_BYTES, not %d", k.BufferBytes)
	check(k.MaxConnections >= 0, "SLUICE_KINESIS_MAX_CONNECTIONS: must be at least 1, or 0 to follow the latency, not %d", k.MaxConnections)
	return errors.Join(faults...)
}

// calm is how activities that wait heartbeat once nothing happens.
func (c Config) calm() activities.Calm {
	return activities.Calm{After: c.CalmAfter, Spacing: c.WaitHeartbeat}
}

// withoutUser is a URL without what stands before its host, which may be a password.
func withoutUser(s string) string {
	if at := strings.LastIndex(s, "@"); at >= 0 {
		return "…" + s[at:]
	}
	return s
}

func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		strings.Trim(u.Path, "/") == "" && u.RawQuery == ""
}

// Conceal makes the configuration's secrets known, so that no line tells them.
func (c *Config) Conceal() {
	connect.ConcealKeys(c.EncryptionKey)
	secret.Add(c.TaskServiceToken)
	secret.AddConnectionString(c.Azure.ConnectionString)
}

// httpCredentials picks SLUICE_HTTP_AUTH_<NAME> out of the environment: the
// Authorization headers that a document may name in lower case.
func httpCredentials(environ []string) map[string]string {
	credentials := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if name, ok := strings.CutPrefix(name, "SLUICE_HTTP_AUTH_"); ok && name != "" {
			credentials[strings.ToLower(name)] = value
		}
	}
	return credentials
}
