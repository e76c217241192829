package rollover_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
	"sluice/workflows"
)

// claimed are the parts of the claimer's status and result that count here.
type claimed struct {
	State             string
	Capacity, Running int
	Claimed, Finished int64
}

// claimer starts ClaimTasks on a queue of its own with tasks that take so long.
func claimer(t *testing.T, s *harness.Stack, tasks int, takes string) *target {
	t.Helper()
	queue, jobs := s.Name("tasks"), s.Name("jobs")
	s.NewAzureQueue(queue)
	s.LaunchProgram("tests/jobs", "SLUICE_TASK_QUEUE="+jobs)
	for n := range tasks {
		text := fmt.Sprintf(`{"taskId":"%s-%d","runId":0,"payload":{"takes":%q}}`, queue, n, takes)
		_, err := s.Queues.NewQueueClient(queue).EnqueueMessage(t.Context(), text, nil)
		require.NoError(t, err)
	}
	return start(t, s, workflows.TypeClaimTasks, workflows.ClaimID(queue), fmt.Sprintf(
		`{"queues":[{"name":%q}],"interval":"200ms","maxInterval":"1s","capacity":4,"run":{"workflow":"TestChild","taskQueue":%q}}`, queue, jobs))
}

// resizes sends capacity again and again; every answer shows what was asked for.
func (g *target) resizes(sender int) func() {
	return func() {
		for n := range 10 {
			var answer claimed
			capacity := 5 + 10*sender + n
			if err := g.send(message{"capacity", fmt.Sprintf(`{"capacity":%d}`, capacity), false}, &answer); err != nil || answer.Capacity != capacity {
				g.t.Errorf("capacity %d: %+v, %v", capacity, answer, err)
			}
			pause()
		}
	}
}

func TestTasksThatFinishDuringARollOverAreAllCounted(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	const tasks = 30
	g := claimer(t, s, tasks, "200ms")
	g.storm(2, g.resizes(0), g.resizes(1))
	await(g, "all ran", func(c claimed) bool { return c.Claimed == tasks && c.Finished == tasks })
	g.must(message{"drain", `{"wait":"1m"}`, false}, nil)
	var result claimed
	g.result(&result)
	require.EqualValues(t, tasks, result.Claimed)
	require.EqualValues(t, tasks, result.Finished)
	g.Record(g.id, workflows.TypeClaimTasks, "drained-in-another-run")
}

func TestAClaimerThatRollsOverStopsItsTasks(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	g := claimer(t, s, 4, "10m")
	await(g, "all run", func(c claimed) bool { return c.Running == 4 })
	g.storm(2, g.resizes(0), g.resizes(1))
	g.must(message{"stop", `{"reason":"over"}`, false}, nil)
	var result claimed
	g.result(&result)
	require.Equal(t, claimed{State: "STOPPED", Capacity: result.Capacity, Claimed: 4, Finished: 4}, result)
}
