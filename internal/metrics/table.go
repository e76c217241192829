// Package metrics is the table of Sluice's own metrics: what each is called, what it
// says and by which labels. The worker takes its HELP texts from it, and
// docs/metrics.md is made of it.
package metrics

import "strings"

// Kind is what a metric is to Prometheus.
type Kind string

// Kinds. A counter has _total at the end of its name, a histogram _seconds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric is one of the table.
type Metric struct {
	Name   string // as the code names it
	Kind   Kind
	Labels string // with commas between them
	Help   string
}

// Exposed is the name under which Prometheus sees it.
func (m Metric) Exposed() string {
	switch m.Kind {
	case Counter:
		return m.Name + "_total"
	case Histogram:
		return m.Name + "_seconds"
	default:
		return m.Name
	}
}

// Table is all of them, in the order of docs/metrics.md.
func Table() []Metric {
	return []Metric{
		{"sluice_workflow_states", Counter, "workflow_type, state", "Workflows that came into a state, such as requests into SUSPENDED or FAIL."},
		{"sluice_request_expired", Counter, "", "Requests that failed since a suspension outlived its time."},
		{"sluice_requests_suspended", Gauge, "", "Requests in SUSPENDED now in the namespace; every worker tells the same."},
		{"sluice_requests_suspension_age_seconds", Gauge, "", "How long the oldest of the suspensions has lasted; of the first 100 that visibility lists."},
		{"sluice_requests_suspension_remaining_seconds", Gauge, "", "Time until the next of the suspended requests expires or meets its deadline; nothing where none does."},

		{"sluice_dynamodb_queue_length", Gauge, "table, index, direction", "Calls that wait for capacity."},
		{"sluice_dynamodb_queue_age_seconds", Gauge, "table, index, direction", "How long the oldest of these has waited."},
		{"sluice_dynamodb_rate_units_per_second", Gauge, "table, index, direction", "Share of the capacity in force; 0 where there is no limit."},
		{"sluice_dynamodb_debt_units", Gauge, "table, index, direction", "Units taken beyond the share, which later calls pay."},
		{"sluice_dynamodb_consumed_units", Counter, "table, index, direction", "Capacity units that the service told to have taken."},
		{"sluice_dynamodb_throttled_calls", Counter, "table, index, direction", "Calls that the service refused for want of capacity."},
		{"sluice_dynamodb_lease_failures", Counter, "table, index, direction", "Leases of a share that could not be had from the owner of the budget."},

		{"sluice_kinesis_requests", Counter, "stream", "PutRecords requests that ended."},
		{"sluice_kinesis_request_errors", Counter, "stream", "Of these, those that failed as a whole or got no answer."},
		{"sluice_kinesis_request_latency", Histogram, "stream", "Time of a PutRecords request."},
		{"sluice_kinesis_requests_in_flight", Gauge, "stream", "Requests under way."},
		{"sluice_kinesis_records_stored", Counter, "stream", "Records that were stored."},
		{"sluice_kinesis_records_repeated", Counter, "stream", "Records that were sent once more."},
		{"sluice_kinesis_records_failed", Counter, "stream", "Records that were given up."},
		{"sluice_kinesis_records_throttled", Counter, "stream", "Records that the service refused for the throughput of their shard."},
		{"sluice_kinesis_records_buffered", Gauge, "stream", "Records that wait or are in flight in this worker."},
		{"sluice_kinesis_bytes_sent", Counter, "stream", "Bytes of keys and data in requests."},

		{"sluice_producer_buffered", Gauge, "stream", "Records in the durable buffer of a Producer, told by the worker that has it."},
		{"sluice_producer_consecutive_errors", Gauge, "stream", "Batches in a row of which nothing was stored."},
		{"sluice_producer_errors", Counter, "stream", "Batches with an error."},

		{"sluice_quiescence_polls", Counter, "", "Looks at a source that came to a result."},
		{"sluice_quiescence_failed_polls", Counter, "", "Looks at a source that failed."},
		{"sluice_quiescence_time_to_quiet", Histogram, "", "Time from the last change to the decision that all is quiet."},
		{"sluice_count_events", Counter, "queue", "S3 events taken in."},
		{"sluice_count_unreadable", Counter, "queue", "Messages that could not be read."},
		{"sluice_count_errors", Counter, "queue", "Failures of the queue and the table."},

		{"sluice_claim_visible", Gauge, "queue", "Messages a peek sees, at most 32; not for scaling."},
		{"sluice_claim_approximate", Gauge, "queue", "Azure's estimate of all messages, hidden ones included."},
		{"sluice_claim_oldest_age_seconds", Gauge, "queue", "Age of the oldest message seen."},
		{"sluice_claim_running", Gauge, "claimer", "Tasks that run."},
		{"sluice_claim_capacity", Gauge, "claimer", "Tasks that may run."},
		{"sluice_claim_started", Counter, "queue", "Tasks that were started."},
		{"sluice_claim_refused", Counter, "queue", "Messages whose claim the task service refused for good."},
		{"sluice_claim_excused", Counter, "queue", "Deliveries that count for nothing, since nobody could decide."},
		{"sluice_claim_poisoned", Counter, "queue", "Messages moved aside."},
		{"sluice_claim_errors", Counter, "queue", "Failures of queues and of the task service."},
		{"sluice_claim_delete_failures", Counter, "queue", "Messages dealt with that could not be deleted."},
		{"sluice_claim_latency", Histogram, "", "Time of the task service's answer to a claim."},
		{"sluice_claim_start_latency", Histogram, "", "Time to start the workflow of a task."},

		{"sluice_ingest_missing_records", Gauge, "", "Records that the last ingestion that ended on this worker found missing."},
		{"sluice_ingest_ended", Counter, "", "Ingestions that came to their comparison's end."},

		{"sluice_worker_build_info", Gauge, "version, go_version", "1, labelled with the worker's version."},
	}
}

// Help is the text of a metric by the name that code uses; what is not in the table is
// the Temporal SDK's, and its name says it.
func Help(name string) string {
	for _, m := range Table() {
		if m.Name == name {
			return m.Help
		}
	}
	return "Temporal's Go SDK: " + strings.ReplaceAll(strings.TrimPrefix(name, "temporal_"), "_", " ") + "."
}

// Markdown is the table as docs/metrics.md has it.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| metric | kind | labels | |\n|---|---|---|---|\n")
	for _, m := range Table() {
		labels := ""
		if m.Labels != "" {
			labels = "`" + strings.ReplaceAll(m.Labels, ", ", "`, `") + "`"
		}
		b.WriteString("| `" + m.Exposed() + "` | " + string(m.Kind) + " | " + labels + " | " + m.Help + " |\n")
	}
	return b.String()
}
