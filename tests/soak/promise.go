package soak

// A Promise is what is to be true of one workflow, item, queue or counter in the end.
type Promise struct {
	System string
	// ID is the workflow's, or what the collector calls another thing
	// ("item/<table>/<id>").
	ID string
	// States are those that it may end in, one of them; "" is any that is not
	// running.
	States []string
	// Reason must be in the error of what ended FAIL, where given.
	Reason string
	// Figures are numbers of its final state.
	Figures map[string]int64
	Lasting bool // may be running
	Effects []Effect
}

// An Effect is what a service must have accepted for a promise.
type Effect struct {
	Service, Target, Key string
	// Job binds the effect to a job: where that did not end COMPLETE, it need not be
	// there.
	Job string
	// AtMost is how often it may be there; 0 is any number, and all beyond the first
	// are counted as doubles.
	AtMost int
	// Sequence orders effects of one target and group: the first of each comes after
	// the first of those with lower ones. "" is no order.
	Group    string
	Sequence int
}

// An Entry is one line of the guard's journal.
type Entry struct{ Service, Operation, Target, Key string }

// A Final is how something ended.
type Final struct {
	ID      string
	Type    string // of a workflow
	Running bool
	Lasting bool // may run: it ends by itself, ten minutes after its last use
	State   string
	Error   string
	Jobs    map[string]string // states by job
	Figures map[string]int64
	// Tries are the dispatches and successes of a request's jobs in order, over all
	// its runs.
	Tries []Try
	// FailedTasks are the causes of workflow tasks that failed.
	FailedTasks []string
}

// A Try is a dispatch of a job, or its reported success.
type Try struct {
	Job     string
	Success bool
}

// Remains are what must not be left.
type Remains struct {
	Processes, Files []string
}
