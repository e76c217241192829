package soak

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sluice/internal/jobchain"
	"sluice/workflows"
)

const requestsEach = 4 // of every way to end

// requests that run to their end, are suspended and resumed, outlive their suspension,
// are stopped, and have children that are suspended with them.
func requests(ctx context.Context, w *world) (promises []Promise, err error) {
	ways := []struct {
		name  string
		state jobchain.State
		run   func(ctx context.Context, w *world, id string, jobs []any) error
	}{
		{"whole", jobchain.Complete, wholeRequest}, {"resumed", jobchain.Complete, resumedRequest},
		{"expired", jobchain.Fail, expiredRequest}, {"stopped", jobchain.Stopped, stoppedRequest},
	}
	id := func(i int) string { return fmt.Sprintf("request/%s-%s-%d", w.name, ways[i%len(ways)].name, i) }
	for i := range requestsEach * len(ways) {
		promises = append(promises, Promise{System: "requests", ID: id(i), States: []string{string(ways[i%len(ways)].state)}, Reason: reasonOf(ways[i%len(ways)].name)})
	}
	return promises, w.spread(ctx, len(promises), func(ctx context.Context, i int) error {
		gate := w.gate(fmt.Sprint("request", i))
		child := map[string]any{"jobs": []any{w.testJob("inner", map[string]any{"takes": "1s"}), w.testJob("gated", map[string]any{"until": gate, "checkpoints": true}, "inner")}}
		jobs := []any{
			w.testJob("first", map[string]any{"takes": "500ms", "checkpoints": true}),
			w.testJob("held", map[string]any{"until": gate, "checkpoints": true}, "first"),
			map[string]any{"id": "child", "workflow": workflows.TypeRequest, "after": []string{"first"}, "input": child, "timeout": "10m"},
			w.testJob("last", map[string]any{"takes": "500ms"}, "held", "child"),
		}
		if err := ways[i%len(ways)].run(ctx, w, id(i), jobs); err != nil {
			return err
		}
		return w.ended(ctx, id(i))
	})
}

func reasonOf(way string) string {
	if way == "expired" {
		return "suspended"
	}
	return ""
}

// open lets the jobs of a request go on that wait at its gate.
func open(jobs []any) error {
	held := jobs[1].(map[string]any)["input"].(map[string]any)
	return os.WriteFile(held["until"].(string), nil, 0o600)
}

func wholeRequest(ctx context.Context, w *world, id string, jobs []any) error {
	if err := open(jobs); err != nil {
		return err
	}
	return w.start(ctx, id, workflows.TypeRequest, map[string]any{"jobs": jobs})
}

// heldRequest is one that has begun and stays at its gate.
func heldRequest(ctx context.Context, w *world, id string, document map[string]any) error {
	if err := w.start(ctx, id, workflows.TypeRequest, document); err != nil {
		return err
	}
	return w.until(ctx, id, func(status map[string]any) error {
		if n, _ := status["finishedJobs"].(float64); n < 1 {
			return errors.New("its first job is not finished")
		}
		return nil
	})
}

func resumedRequest(ctx context.Context, w *world, id string, jobs []any) error {
	if err := heldRequest(ctx, w, id, map[string]any{"jobs": jobs}); err != nil {
		return err
	}
	for range 2 {
		if err := w.update(ctx, id, workflows.UpdateSuspend, map[string]any{"wait": "5s"}); err != nil {
			return err
		}
		if err := w.update(ctx, id, workflows.UpdateResume, map[string]any{}); err != nil {
			return err
		}
	}
	return open(jobs)
}

func expiredRequest(ctx context.Context, w *world, id string, jobs []any) error {
	if err := heldRequest(ctx, w, id, map[string]any{"jobs": jobs, "suspendTTL": "2s"}); err != nil {
		return err
	}
	return w.update(ctx, id, workflows.UpdateSuspend, map[string]any{"wait": "1s", "grace": "1s"})
}

func stoppedRequest(ctx context.Context, w *world, id string, jobs []any) error {
	if err := heldRequest(ctx, w, id, map[string]any{"jobs": jobs}); err != nil {
		return err
	}
	return w.update(ctx, id, workflows.UpdateStop, map[string]any{"grace": "5s"})
}
