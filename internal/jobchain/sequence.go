package jobchain

import "time"

// sequence is a group of jobs that are retried together.
type sequence struct {
	members  []int
	restarts int
	broken   bool // a member failed; it starts anew once no member runs
}

func (c *Chain) join(name string, i int) {
	s, ok := c.sequences[name]
	if !ok {
		s = &sequence{}
		c.sequences[name] = s
	}
	s.members = append(s.members, i)
}

// held reports that job i must not start, since its sequence is about to start
// anew.
func (c *Chain) held(i int) bool {
	s := c.sequences[c.doc.Jobs[i].Sequence]
	return s != nil && s.broken
}

// settle looks, after job i has ended, whether its sequence is to start anew. It
// does so when its last running member has ended, so that no job of the new
// round meets one of the old.
func (c *Chain) settle(i int, now time.Time) {
	name := c.doc.Jobs[i].Sequence
	s := c.sequences[name]
	if s == nil {
		return
	}
	rule := c.doc.Sequences[name]
	if c.jobs[i].state == Fail && s.restarts < rule.Retry && !c.jobs[i].final {
		s.broken = true
	}
	if !s.broken {
		return
	}
	for _, m := range s.members {
		if c.jobs[m].state == Running {
			return
		}
	}
	s.broken = false
	s.restarts++
	c.restart(s, now.Add(max(rule.RetryWait.Std(), again)))
}

// restart puts every member back to where it began. Try numbers go on rising: a
// try that a suspension interrupted is open still and keeps its number.
func (c *Chain) restart(s *sequence, notBefore time.Time) {
	for _, m := range s.members {
		j := &c.jobs[m]
		c.drop(m)
		c.forget(m)
		j.spent, j.lost, j.refused, j.final = 0, 0, 0, false
		j.notBefore = notBefore
		c.recount(m)
		if j.interrupted {
			continue // Release makes it PENDING
		}
		if j.state == Pending {
			if j.unmet == 0 {
				c.queue.push(c.item(m))
			}
			continue
		}
		j.repeat = false
		c.set(m, Pending)
	}
}
