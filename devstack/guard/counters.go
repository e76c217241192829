package guard

import "sync"

// A Count is what was seen of one operation on one target.
type Count struct {
	Calls          int     `json:"calls"`
	Throttled      int     `json:"throttled"` // refused, wholly or in part, by a limit
	Faulted        int     `json:"faulted"`
	Consumed       float64 `json:"consumed"` // capacity units, indexes included
	Records        int     `json:"records"`  // entries of batches that went through
	RecordsRefused int     `json:"recordsRefused"`
}

type countKey struct {
	service           Service
	operation, target string
}

// counters add up Counts.
type counters struct {
	mu   sync.Mutex
	seen map[countKey]*Count
}

func newCounters() *counters { return &counters{seen: map[countKey]*Count{}} }

// of answers what adds to one operation's counter.
func (c *counters) of(service Service, operation, target string) func(Count) {
	key := countKey{service, operation, target}
	return func(n Count) {
		c.mu.Lock()
		defer c.mu.Unlock()
		sum := c.seen[key]
		if sum == nil {
			sum = &Count{}
			c.seen[key] = sum
		}
		sum.Calls += n.Calls
		sum.Throttled += n.Throttled
		sum.Faulted += n.Faulted
		sum.Consumed += n.Consumed
		sum.Records += n.Records
		sum.RecordsRefused += n.RecordsRefused
	}
}

// all answers the counters by service, operation, target.
func (c *counters) all() map[Service]map[string]map[string]Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[Service]map[string]map[string]Count{}
	for key, count := range c.seen {
		if all[key.service] == nil {
			all[key.service] = map[string]map[string]Count{}
		}
		if all[key.service][key.operation] == nil {
			all[key.service][key.operation] = map[string]Count{}
		}
		all[key.service][key.operation][key.target] = *count
	}
	return all
}

func (c *counters) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.seen)
}
