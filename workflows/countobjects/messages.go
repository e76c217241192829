package countobjects

import (
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// ending is the input of `drain`, which answers how far it is after a while.
type ending struct {
	Wait duration.Duration `json:"wait"`
}

const (
	defaultCountWait = duration.Duration(30 * time.Second)
	longestCountWait = duration.Duration(time.Minute)
)

// Check adds what is wrong with the values.
func (w *ending) Check(faults *document.Faults) {
	if w.Wait > longestCountWait {
		faults.Add("wait", "%s is above %s", w.Wait, longestCountWait)
	}
}

// listen sets up the messages. Ingestions that share the counter join and leave it.
func (m *monitor) listen(ctx workflow.Context) error {
	return new(shell.Inbox).Listen(ctx,
		shell.OnQuery(wire.QueryStatus, "What has been counted, and whether it goes on.", m.status),
		shell.OnUpdate(wire.UpdateStop, "End after the batch under way.", m.stop),
		shell.OnUpdate(wire.UpdateDrain, "Count until a poll finds nothing, then end.", m.drain).
			Over(func() ending { return ending{Wait: defaultCountWait} }),
		shell.OnUpdate(wire.UpdateJoin, "Keep the counter for an ingestion.", m.join).If(m.mayJoin),
		shell.OnUpdate(wire.UpdateLeave, "An ingestion needs the counter no more.", m.leave),
	)
}

// stop ends the counting after the batch under way. It is answered at once.
func (m *monitor) stop(workflow.Context, struct{}) (Status, error) {
	m.endAs(countStopped)
	return m.status()
}

// drain ends the counting once nothing is left to count.
func (m *monitor) drain(ctx workflow.Context, in ending) (Status, error) {
	m.endAs(countDraining)
	if _, err := shell.AwaitFor(ctx, in.Wait.Std(), "until stop or drain is answered", func() bool { return m.over }); err != nil {
		return Status{}, err
	}
	return m.status()
}

// endAs carries a message out that leads to the end. A stop overrules a drain.
func (m *monitor) endAs(state string) {
	if m.state == countOpen || m.state == countDraining && state == countStopped {
		m.state = state
		m.counting.Interrupt()
	}
}

// queueOf is the name of the queue of a URL.
func queueOf(url string) string { return url[strings.LastIndex(url, "/")+1:] }
