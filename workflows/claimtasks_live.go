package workflows

import "sluice/internal/wire"

// Live adds what the polling activity has not reported yet, from its heartbeat
// and the answer to the query control. Reports cost history events, so the
// status alone may be behind by a dozen tasks.
func (s ClaimTasksStatus) Live(m wire.PollMemory, control wire.ClaimControl) ClaimTasksStatus {
	known := map[string]bool{}
	for _, id := range control.Early {
		known[id] = true
	}
	for _, t := range control.Tasks {
		known[t.ID()] = true
	}
	for _, t := range m.Tasks {
		if known[t.ID()] || !t.Sure {
			continue
		}
		s.Claimed++
		s.Running++
		if len(s.Tasks) < maxListedTasks {
			s.Tasks = append(s.Tasks, claimedTask(t.StartedTask, s.State))
		}
	}
	s.Poisoned += m.Poisoned
	s.Excused += m.Excused
	if len(m.Queues) > 0 {
		s.Queues = m.Queues
	}
	return s
}
