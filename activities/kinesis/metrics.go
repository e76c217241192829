package kinesis

import (
	"time"

	"go.temporal.io/sdk/client"

	"sluice/internal/recordbatch"
)

// streamMeters count what a stream's producer does, labelled with the stream.
type streamMeters struct {
	requests, throttled, errors     client.MetricsCounter
	stored, repeated, failed, bytes client.MetricsCounter
	latency                         client.MetricsTimer
	buffered, inFlight              client.MetricsGauge
}

func newStreamMeters(h client.MetricsHandler, stream string) streamMeters {
	if h == nil {
		h = client.MetricsNopHandler
	}
	h = h.WithTags(map[string]string{"stream": stream})
	return streamMeters{
		requests:  h.Counter("sluice_kinesis_requests"),
		throttled: h.Counter("sluice_kinesis_records_throttled"),
		errors:    h.Counter("sluice_kinesis_request_errors"),
		stored:    h.Counter("sluice_kinesis_records_stored"),
		repeated:  h.Counter("sluice_kinesis_records_repeated"),
		failed:    h.Counter("sluice_kinesis_records_failed"),
		bytes:     h.Counter("sluice_kinesis_bytes_sent"),
		latency:   h.Timer("sluice_kinesis_request_latency"),
		buffered:  h.Gauge("sluice_kinesis_records_buffered"),
		inFlight:  h.Gauge("sluice_kinesis_requests_in_flight"),
	}
}

// request counts a request that has ended and what became of its records.
func (m *streamMeters) request(r *recordbatch.Request, outcome recordbatch.Outcome, took time.Duration, q *recordbatch.Queue) {
	m.requests.Inc(1)
	m.bytes.Inc(int64(r.Bytes))
	m.latency.Record(took)
	if outcome.Kind != recordbatch.Answered {
		m.errors.Inc(1)
	}
	var stored, repeated, failed, throttled int64
	for i := range r.Items {
		switch r.EndOf(i) {
		case recordbatch.EndStored:
			stored++
		case recordbatch.EndFailed:
			failed++
		case recordbatch.EndAgain:
			repeated++
		}
	}
	for i := range r.Verdicts {
		if r.Verdicts[i].Code() == recordbatch.CodeThrottled {
			throttled++
		}
	}
	m.stored.Inc(stored)
	m.repeated.Inc(repeated)
	m.failed.Inc(failed)
	m.throttled.Inc(throttled)
	m.buffered.Update(float64(q.Held()))
	m.inFlight.Update(float64(q.InFlight()))
}
