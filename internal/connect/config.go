package connect

import "sluice/internal/wire"

// Config is what every program of Sluice takes, by flag or environment. kong
// reads the tags.
type Config struct {
	TaskQueue     string `help:"Task queue of workflows and activities." env:"SLUICE_TASK_QUEUE" default:"sluice"`
	LogLevel      string `help:"Least level of log lines: debug, info, warn or error." env:"SLUICE_LOG_LEVEL" default:"info" enum:"debug,info,warn,error"`
	LogFormat     string `help:"Form of log lines: console or json." env:"SLUICE_LOG_FORMAT" default:"console" enum:"console,json"`
	EncryptionKey string `help:"Keys of all payloads in Temporal, each 32 bytes in base64 (AES-256-GCM) behind an ID and a colon where it has one, with commas between them: the first encrypts, all decrypt. Worker, starter and codec server need the same." env:"SLUICE_ENCRYPTION_KEY" placeholder:"[ID:]BASE64,…"`
	Compression   string `help:"Compression of what is sent to Temporal, and of its answers: none or gzip." env:"SLUICE_TEMPORAL_COMPRESSION" default:"none" enum:"none,gzip"`
	PayloadBucket string `help:"S3 bucket for payloads over 256 KiB; without it those beyond Temporal's limit are refused." env:"SLUICE_PAYLOAD_BUCKET" placeholder:"BUCKET"`
}

// ThroughputConfig is which budgets a program's are, and where their owners run.
type ThroughputConfig struct {
	Scope     string `help:"Put in front of the region in the IDs of throughput budgets, where one namespace serves several accounts or endpoints." env:"SLUICE_THROUGHPUT_SCOPE"`
	TaskQueue string `help:"Task queue of the owners of throughput budgets, which every worker polls; by default sluice-throughput, with a scope sluice-throughput-<scope>." env:"SLUICE_THROUGHPUT_TASK_QUEUE" placeholder:"QUEUE"`
}

// Owners is the task queue of the owners of budgets.
func (c ThroughputConfig) Owners() string {
	if c.TaskQueue != "" {
		return c.TaskQueue
	}
	return wire.ThroughputQueue(c.Scope)
}

// AzureConfig is the access to Azure queues, one of the two.
type AzureConfig struct {
	ConnectionString string `help:"Connection string of the storage account whose queues are claimed from." env:"AZURE_STORAGE_CONNECTION_STRING" placeholder:"STRING"`
	QueueURL         string `help:"Queue service URL, used with the default Azure credential." env:"AZURE_STORAGE_QUEUE_URL" placeholder:"URL"`
}
