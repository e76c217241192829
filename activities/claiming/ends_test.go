package claiming

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/duration"
	"sluice/internal/wire"
)

// signals keeps what claimers were told.
type signals struct {
	mu   sync.Mutex
	sent map[string][][]wire.FinishedTask
	fail error
	hold chan struct{} // of capacity 0: a signal waits until it is closed
}

func (s *signals) signal(_ context.Context, claimer string, tasks []wire.FinishedTask) error {
	if s.hold != nil {
		<-s.hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent = map[string][][]wire.FinishedTask{}
	}
	s.sent[claimer] = append(s.sent[claimer], tasks)
	return s.fail
}

func ended(claimer, id string) wire.FinishedInput {
	return wire.FinishedInput{Claimer: wire.ClaimerRef{WorkflowID: claimer}, Task: wire.FinishedTask{TaskID: id}}
}

// tellAll tells of n ends at once and returns what each was answered.
func tellAll(t *testing.T, e *ends, claimer string, n int) []error {
	errs := make([]error, n)
	var telling sync.WaitGroup
	for i := range n {
		telling.Add(1)
		go func() {
			defer telling.Done()
			errs[i] = e.tell(t.Context(), ended(claimer, fmt.Sprint(i)))
		}()
	}
	telling.Wait()
	return errs
}

// What ends while a signal is under way goes by the next one, and each goes once.
func TestEndsOfTasksAreToldInLots(t *testing.T) {
	s := &signals{hold: make(chan struct{})}
	e := &ends{signal: s.signal}
	first := e.add(ended("claim/a", "first"))
	require.Eventually(t, func() bool { return e.taken("claim/a") }, time.Minute, time.Millisecond)
	const many = 2*mostEnds + 7
	lots := map[*lot]bool{}
	for i := range many {
		lots[e.add(ended("claim/a", fmt.Sprint(i)))] = true
	}
	other := e.add(ended("claim/b", "another's"))
	close(s.hold)
	<-first.told
	<-other.told
	for l := range lots {
		<-l.told
	}
	require.Len(t, s.sent["claim/b"], 1)
	require.Len(t, s.sent["claim/a"], 4, "the first, two full ones, the rest")
	told := map[string]int{}
	for _, tasks := range s.sent["claim/a"] {
		require.LessOrEqual(t, len(tasks), mostEnds)
		for _, task := range tasks {
			told[task.TaskID]++
		}
	}
	require.Len(t, told, many+1)
	for id, n := range told {
		require.Equal(t, 1, n, id)
	}
}

// taken reports that the sender has the lot that was there.
func (e *ends) taken(claimer string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.lots[claimer].tasks) == 0
}

// Each that waits hears that a signal was not taken, so that it tells again; and the
// next one tries anew.
func TestEndsThatCouldNotBeToldAreToldAgain(t *testing.T) {
	s := &signals{fail: errors.New("no answer")}
	e := &ends{signal: s.signal}
	for _, err := range tellAll(t, e, "claim/a", 20) {
		require.ErrorIs(t, err, s.fail)
	}
	s.mu.Lock()
	s.fail = nil
	s.mu.Unlock()
	for _, err := range tellAll(t, e, "claim/a", 20) {
		require.NoError(t, err)
	}
}

// Who is told to stop waits for no signal.
func TestEndOfATaskWaitsNoLongerThanItsWorker(t *testing.T) {
	s := &signals{hold: make(chan struct{})}
	e := &ends{signal: s.signal}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, e.tell(ctx, ended("claim/a", "a")), context.Canceled)
	close(s.hold)
}

// A slot is not empty for much longer than its task took, and ends are told in lots
// all the same.
func TestEndsAreGatheredNoLongerThanAQuarterOfTheTasksTime(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: gatherLeast, time.Second: time.Second / 4, time.Hour: gatherMost,
	} {
		require.Equal(t, want, gathering(took), took)
	}
	e := &ends{lots: map[string]*lot{"claim/a": newLot()}}
	for _, took := range []time.Duration{time.Minute, time.Second, time.Hour} {
		in := ended("claim/a", "x")
		in.Took = duration.Duration(took)
		e.add(in)
	}
	require.Equal(t, time.Second, e.take("claim/a").took, "the shortest of a lot counts")
}
