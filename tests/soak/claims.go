package soak

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows"
)

const (
	messagesPut = 24
	poisonEvery = 6 // messages, one of which can't be read
)

// claims puts tasks on a queue, some of which can't be read: every good one runs once to
// its end, the others are put aside, and the claimer's counters say so.
func claims(ctx context.Context, w *world) (promises []Promise, err error) {
	id, poisoned := workflows.ClaimID(w.made.tasks), int64(messagesPut/poisonEvery)
	good := messagesPut - poisoned
	promises = append(promises, Promise{System: "claims", ID: id, States: []string{"STOPPED"},
		Figures: map[string]int64{"claimed": good, "finished": good, "failed": 0, "running": 0}},
		Promise{System: "claims", ID: queueFinal(w.made.tasks + "-poison"), Figures: map[string]int64{"distinct": poisoned}},
		Promise{System: "claims", ID: queueFinal(w.made.tasks), Figures: map[string]int64{"distinct": 0}})
	task := func(i int) string { return fmt.Sprintf("%s-%d", w.name, i) }
	for i := range messagesPut {
		if i%poisonEvery != 0 {
			run := workflows.TaskRunID(wire.TaskID(task(i), 0))
			promises = append(promises, Promise{System: "claims", ID: run, States: []string{string(jobchain.Complete)}})
		}
	}
	document := map[string]any{"queues": []any{map[string]any{"name": w.made.tasks}}, "capacity": 4, "interval": "1s", "maxInterval": "3s", "visibilityTimeout": "20s", "maxDequeueCount": 50}
	if err := w.start(ctx, id, workflows.TypeClaimTasks, document); err != nil {
		return promises, err
	}
	err = w.spread(ctx, messagesPut, func(ctx context.Context, i int) error {
		text := "not a task " + task(i)
		if i%poisonEvery != 0 {
			payload := map[string]any{"jobs": []any{w.testJob("work", map[string]any{"takes": "1s", "checkpoints": true})}}
			raw, err := json.Marshal(map[string]any{"taskId": task(i), "payload": payload})
			if err != nil {
				return err
			}
			text = base64.StdEncoding.EncodeToString(raw)
		}
		return again(ctx, "message "+task(i), func(ctx context.Context) error {
			_, err := w.s.Queues.NewQueueClient(w.made.tasks).EnqueueMessage(ctx, text, nil)
			return err
		})
	})
	if err != nil {
		return promises, err
	}
	err = w.until(ctx, id, func(status map[string]any) error {
		// Its own count of poison is not awaited: what a worker put aside and did not
		// live to tell is on the poison queue, and not in the count.
		bad, err := w.messages(ctx, w.made.tasks+"-poison")
		if err == nil && (status["finished"] != float64(good) || bad != poisoned) {
			err = fmt.Errorf("%v finished of %d, %d put aside of %d", status["finished"], good, bad, poisoned)
		}
		return err
	})
	if err != nil {
		return promises, err
	}
	if err := w.update(ctx, id, workflows.UpdateDrain, map[string]any{"wait": "10s"}); err != nil {
		return promises, err
	}
	return promises, w.ended(ctx, id)
}
