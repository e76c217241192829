package main

import (
	"runtime"

	promclient "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"sluice"
	"sluice/internal/metrics"
)

// serviceName is the worker's in target_info.
const serviceName = "sluice-worker"

// secondsBuckets are the bounds of all histograms: of calls that take milliseconds and
// of work that waits for a minute.
func secondsBuckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 2.5, 5, 10, 30, 60}
}

// newMetrics makes the metrics handler for the SDK and our activities alike, which
// registry shows beside those of process, runtime and build.
func newMetrics(registry *promclient.Registry) (client.MetricsHandler, error) {
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	exporter, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	about := resource.NewSchemaless(attribute.String("service.name", serviceName), attribute.String("service.version", sluice.Version()))
	meter := metric.NewMeterProvider(metric.WithReader(exporter), metric.WithResource(about), metric.WithView(described)).Meter("sluice")
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{Meter: meter, UseMonotonicCounters: true}), nil
}

// described gives every instrument its HELP, and histograms their buckets: the SDK's
// interface of metrics has no place for either.
func described(i metric.Instrument) (metric.Stream, bool) {
	stream := metric.Stream{Name: i.Name, Description: metrics.Help(i.Name), Unit: i.Unit}
	if i.Kind == metric.InstrumentKindHistogram {
		stream.Aggregation = metric.AggregationExplicitBucketHistogram{Boundaries: secondsBuckets()}
	}
	return stream, true
}

func buildInfo() promclient.Collector {
	const name = "sluice_worker_build_info"
	return promclient.NewGaugeFunc(promclient.GaugeOpts{
		Name: name, Help: metrics.Help(name),
		ConstLabels: promclient.Labels{"version": sluice.Version(), "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}
