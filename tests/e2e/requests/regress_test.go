package requests_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/jobchain"
)

// TestEndsThatComeWithAnUpdateGoOn has jobs end while updates come in, so that
// some ends are first seen by an update's handler.
func TestEndsThatComeWithAnUpdateGoOn(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job"},{"id":"b","activity":"Test.Job","after":["a"]},{"id":"c","activity":"Test.Job","after":["b"]},
		{"id":"d","activity":"Test.Job","after":["c"],"retry":3,"retryWait":"10ms","input":{"failTries":3}},{"id":"e","activity":"Test.Job","after":["d"]}]}`)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = b.updateInto(run, "resume", `{}`, nil)
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	require.Equal(t, jobchain.Complete, b.result(run).State)
	close(stop)
	all.Wait()
	b.replay(run.GetID(), 1)
}
