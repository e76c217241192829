package scheduler

import (
	"time"

	"go.temporal.io/sdk/client"

	"sluice/internal/throughput"
)

// figures are the metrics of an account, by table, index and direction.
type figures struct {
	length, age, rate, debt  client.MetricsGauge
	units, refused, unleased client.MetricsCounter
	told                     throughput.Milli // part of a unit not counted yet
}

// mostLabels bounds the tables and indexes that metrics tell apart: documents name
// them, and whatever reads metrics keeps every name for ever.
const mostLabels = 1000

// labels are the names that metrics have told so far.
type labels struct{ told map[[2]string]bool }

// figures are those of an account; a hot key has none of its own, since keys are
// data. What comes after the most that are told apart is told as "(others)".
func (l *labels) figures(handler client.MetricsHandler, name accountName) figures {
	r := name.Resource
	if name.key != "" {
		return newFigures(client.MetricsNopHandler, r)
	}
	if label := [2]string{r.Table, r.Index}; !l.told[label] {
		if len(l.told) >= mostLabels {
			r.Table, r.Index = "(others)", ""
		} else {
			if l.told == nil {
				l.told = map[[2]string]bool{}
			}
			l.told[label] = true
		}
	}
	return newFigures(handler, r)
}

func newFigures(handler client.MetricsHandler, r throughput.Resource) figures {
	m := handler.WithTags(map[string]string{"table": r.Table, "index": r.Index, "direction": string(r.Direction)})
	return figures{
		length:   m.Gauge("sluice_dynamodb_queue_length"),
		age:      m.Gauge("sluice_dynamodb_queue_age_seconds"),
		rate:     m.Gauge("sluice_dynamodb_rate_units_per_second"),
		debt:     m.Gauge("sluice_dynamodb_debt_units"),
		units:    m.Counter("sluice_dynamodb_consumed_units"),
		refused:  m.Counter("sluice_dynamodb_throttled_calls"),
		unleased: m.Counter("sluice_dynamodb_lease_failures"),
	}
}

func (f *figures) throttled(calls int) { f.refused.Inc(int64(calls)) }

// report sets the gauges: calls waiting and the age of the oldest, the share in
// force (0 where there is no limit) and what is owed.
func (f *figures) report(now time.Time, a *account) {
	var oldest time.Time
	for _, g := range a.line.groups {
		if first := g.queue.Oldest(); !first.IsZero() && (oldest.IsZero() || first.Before(oldest)) {
			oldest = first
		}
	}
	age := 0.0
	if !oldest.IsZero() {
		age = now.Sub(oldest).Seconds()
	}
	rate, limited := a.budget.Rate()
	if !limited {
		rate = 0
	}
	f.length.Update(float64(a.line.waiting))
	f.age.Update(age)
	f.rate.Update(rate.Float())
	f.debt.Update(max(-a.budget.Level(now), 0).Float())
}

// consumed counts units, whole ones, since counters hold integers.
func (f *figures) consumed(units throughput.Milli) {
	f.told += units
	if whole := f.told / throughput.Unit; whole > 0 {
		f.told -= whole * throughput.Unit
		f.units.Inc(int64(whole))
	}
}
