// Package hostile_test sends a worker what nobody should send it: every input, message
// and activity input of the public documents, each field with values of every kind. It
// is refused by the path of what is wrong, or done; the worker lives, and no workflow
// task fails. SLUICE_HOSTILE is how many documents, SLUICE_SEED which.
package hostile_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice"
	"sluice/tests/harness"
	"sluice/tests/hostile"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, "--no-ui")) }

// senders send at once, each its share from a seed of its own.
const senders = 6

func TestAWorkerRefusesByThePathOrDoesWhateverItIsSent(t *testing.T) {
	documents := number("SLUICE_HOSTILE", 240)
	seed := uint64(number("SLUICE_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("SLUICE_SEED=%d SLUICE_HOSTILE=%d", seed, documents)
	w := newWorld(t)
	var all sync.WaitGroup
	for n := range senders {
		g := hostile.New(seed + uint64(n))
		g.Known = w.known
		s := &sender{world: w, Generator: g, n: n, targets: map[string]string{}}
		all.Go(func() { s.send(documents / senders) })
	}
	all.Wait()
	require.Truef(t, w.worker.Running(), "the worker lives; %v", w.tally.kinds)
	w.tally.report(t)
	require.NoError(t, w.healthy(t.Context()))
}

// send sends so many documents: half of them inputs, a third messages, the others for
// activities.
func (s *sender) send(documents int) {
	var calls []call
	for range documents {
		if !s.worker.Running() {
			return // which is told at the end
		}
		switch n := s.IntN(12); {
		case n < 6:
			s.startAny()
		case n < 10:
			s.messageAny()
		default:
			calls = append(calls, s.callAny())
		}
		if len(calls) == 20 {
			s.callAll(calls)
			calls = nil
		}
	}
	s.callAll(calls)
}

// healthy says what a worker that did badly tells of itself.
func (w *world) healthy(ctx context.Context) error {
	metrics, err := w.worker.Scrape(ctx)
	if err != nil {
		return err
	}
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "temporal_workflow_task_execution_failed") {
			continue
		}
		for _, name := range sluice.WorkflowNames() {
			if strings.Contains(line, `workflow_type="`+name+`"`) && !strings.HasSuffix(line, " 0\n") {
				return fmt.Errorf("workflow tasks failed: %s", line)
			}
		}
	}
	for line := range strings.Lines(w.worker.Logs()) {
		for _, bad := range []string{"goroutine ", "PanicError", "panic:", "Potential deadlock"} {
			if strings.Contains(line, bad) {
				return fmt.Errorf("the worker logs %.2000s", line)
			}
		}
	}
	return nil
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}
