package taskclaim

// MaxPoll is the largest number of messages that one poll may ask for (Azure).
const MaxPoll = 32

// Slots is what limits new tasks at one moment.
type Slots struct {
	Capacity int   // tasks that may run at once
	Running  int   // tasks that run or are about to start
	MaxTasks int64 // claims in all; 0 is no limit
	Claimed  int64 // claims so far, those about to start included
}

// Free is how many tasks may be claimed now.
func (s Slots) Free() int {
	free := max(0, s.Capacity-s.Running)
	if s.MaxTasks > 0 {
		free = int(min(int64(free), max(0, s.MaxTasks-s.Claimed)))
	}
	return free
}

// Exhausted reports that no claim will ever be allowed again.
func (s Slots) Exhausted() bool { return s.MaxTasks > 0 && s.Claimed >= s.MaxTasks }
