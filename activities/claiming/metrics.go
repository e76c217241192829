package claiming

import (
	"sync"
	"time"
)

// gaugeTurns remembers which claimers this worker polls for. A gauge keeps its
// last value for ever, so a worker that polls no more has to take it back, or
// autoscaling would go by a queue's length of long ago.
type gaugeTurns struct {
	mu   sync.Mutex
	turn map[string]int
}

// gaugeRest is how long after its last turn a worker clears its gauges: the
// activity runs in turns of seconds, mostly on the same worker.
const gaugeRest = 30 * time.Second

// takeTurn notes that this worker polls for the claimer; the returned function
// ends the turn.
func (p *poller) takeTurn() func() {
	id := p.in.Claimer.WorkflowID
	g := &p.Claimer.gauges
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.turn == nil {
		g.turn = map[string]int{}
	}
	g.turn[id]++
	mine := g.turn[id]
	return func() {
		time.AfterFunc(gaugeRest, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.turn[id] == mine {
				p.clearGauges()
			}
		})
	}
}

func (p *poller) clearGauges() {
	p.claimerGauges(0, 0)
	for _, q := range p.in.Spec.Queues {
		p.queueGauges(q.Name, 0, 0, 0)
	}
}

// claimerGauges are how many tasks run, and how many may.
func (p *poller) claimerGauges(running, capacity float64) {
	meter := p.meter.WithTags(map[string]string{"claimer": p.in.Claimer.WorkflowID})
	meter.Gauge("sluice_claim_running").Update(running)
	meter.Gauge("sluice_claim_capacity").Update(capacity)
}

// queueGauges are a queue's messages: those a peek sees (32 at most), Azure's
// estimate of all, and the age of the oldest seen.
func (p *poller) queueGauges(queue string, visible, approximate, age float64) {
	meter := p.meter.WithTags(map[string]string{"queue": queue})
	meter.Gauge("sluice_claim_visible").Update(visible)
	meter.Gauge("sluice_claim_approximate").Update(approximate)
	meter.Gauge("sluice_claim_oldest_age_seconds").Update(age)
}

// count adds to a counter of a queue.
func (p *poller) count(name, queue string) {
	p.meter.WithTags(map[string]string{"queue": queue}).Counter(name).Inc(1)
}
