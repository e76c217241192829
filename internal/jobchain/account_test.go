package jobchain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/errortype"
	"sluice/internal/limits"
)

// carriedBytes is what a run of this chain hands to the next.
func carriedBytes(t require.TestingT, c *Chain, run Run) int {
	continued, err := c.HandOver(run)
	require.NoError(t, err)
	raw, err := json.Marshal(continued)
	require.NoError(t, err)
	return len(raw)
}

// requireReckoned compares the account with what the chain takes, without its log and
// without what there is for the request itself.
func requireReckoned(t require.TestingT, c *Chain) {
	doc, k := c.Carry(start, 0, 0)
	const names = 200 // of the fields
	require.LessOrEqual(t, encodedSize(doc)+encodedSize(k), c.carried-carriedFixed+names)
}

// TestWhatARunCarriesNeverExceedsItsLimit drives a request that has little room
// left through ends of all kinds, with outputs, checkpoints and errors of all
// sizes, claims and suspensions with long words, and children that run on: whenever
// it rolls over, what it carries fits.
func TestWhatARunCarriesNeverExceedsItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCrowdedChain(t)
		run := Run{Created: start, Gate: Gate{State: Running}}
		now := start
		running := []int{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 1e6).Draw(t, "seconds")) * time.Second)
			switch rapid.SampledFrom([]string{"start", "start", "end", "end", "gate", "roll"}).Draw(t, "step") {
			case "start":
				for range rapid.IntRange(1, c.doc.Parallel()).Draw(t, "starts") {
					if i, ok := c.Next(now); ok && len(running) < c.doc.Parallel() {
						c.Start(i, now)
						running = append(running, i)
					}
				}
			case "end":
				for range rapid.IntRange(1, 500).Draw(t, "ends") {
					if len(running) > 0 {
						c.End(running[0], now, drawSizedEnd(t))
						running = running[1:]
					}
				}
				c.Release()
			case "gate":
				drawGate(t, &run.Gate, now)
			case "roll":
				run.Children = carriedChildren(c, running)
				require.LessOrEqual(t, carriedBytes(t, c, run), c.limit)
				requireReckoned(t, c)
				c = takenOver(t, c, run)
			}
		}
		run.Children = carriedChildren(c, running)
		require.LessOrEqual(t, carriedBytes(t, c, run), c.limit)
		requireReckoned(t, c)
	})
}

// takenOver is the chain of the next run, which reckons alike.
func takenOver(t require.TestingT, c *Chain, run Run) *Chain {
	continued, err := c.HandOver(run)
	require.NoError(t, err)
	raw, err := json.Marshal(continued.Document)
	require.NoError(t, err)
	doc, faults := Parse(raw)
	require.NoError(t, faults.Err())
	var back Run
	require.NoError(t, json.Unmarshal(continued.Carried, &back))
	next := Restore(&doc, map[string]any{"id": "r"}, back.Chain)
	require.Equal(t, c.carried, next.carried)
	next.limit = c.limit
	return next
}

// drawCrowdedChain leaves between nothing and 100 KiB to what it carries.
func drawCrowdedChain(t *rapid.T) *Chain {
	kind := rapid.SampledFrom([]string{"activity", "workflow"}).Draw(t, "kind")
	jobs := make([]string, rapid.SampledFrom([]int{1, 20, 1000}).Draw(t, "jobs"))
	for i := range jobs {
		jobs[i] = fmt.Sprintf(`{"id":"j%d",%q:"x","retry":%d,"sequence":%q}`, i, kind, i%3, []string{"", "<<<<"}[i%2])
	}
	c := newTestChain(t, fmt.Sprintf(`{"jobs":[%s],"sequences":{"<<<<":{"retry":1000}},"maxParallelJobs":%d}`, strings.Join(jobs, ","),
		rapid.SampledFrom([]int{1, 500, 1000}).Draw(t, "parallel")))
	c.limit = c.carried + rapid.IntRange(0, 100<<10).Draw(t, "room")
	return c
}

func drawSizedEnd(t *rapid.T) End {
	e := drawEnd(t)
	e.Output, e.Checkpoint = drawSized(t, "output"), nil
	if e.Kind != Succeeded && rapid.Bool().Draw(t, "leaves a checkpoint") {
		e.Checkpoint = drawSized(t, "checkpoint")
	}
	e.Type = strings.Repeat("<", rapid.SampledFrom([]int{0, 34, 10_000}).Draw(t, "type"))
	e.Error = strings.Repeat("\x01", rapid.SampledFrom([]int{0, 100, 10_000}).Draw(t, "error"))
	e.Delay = time.Duration(rapid.Int64Range(0, 1e18).Draw(t, "delay"))
	return e
}

func drawSized(t *rapid.T, what string) json.RawMessage {
	n := rapid.SampledFrom([]int{0, 1, 10, 100, 1000, 5000, 50_000}).Draw(t, what)
	return json.RawMessage(`"` + strings.Repeat("<", n) + `"`)
}

func drawGate(t *rapid.T, g *Gate, now time.Time) {
	words := strings.Repeat("\x01", rapid.SampledFrom([]int{0, 1000, 5000}).Draw(t, "words"))
	switch rapid.SampledFrom([]string{"suspend", "resume", "claim", "stop"}).Draw(t, "message") {
	case "suspend":
		_, _ = g.Suspend(now, words, time.Hour, time.Minute) // a refusal changes nothing
	case "resume":
		_, _ = g.Resume(now, "", 0)
	case "claim":
		_, _, _ = g.TakeClaim(now, words[:min(len(words), limits.Words)], 0, time.Hour)
	case "stop":
		_ = g.Stop(now, ByStop, words, time.Minute)
		g.State = Running // it rolls over all the same
	}
}

func carriedChildren(c *Chain, running []int) (children []CarriedChild) {
	for _, i := range running {
		if c.Job(i).Workflow != "" {
			children = append(children, CarriedChild{Job: i, Number: c.jobs[i].tries, StartedAt: start.Add(123456789), Told: 3, TimedOut: true, Begun: true, Stopping: 10_001})
		}
	}
	return children
}

// TestTenThousandFailuresAreCarried: their types once came on top of what was
// reckoned, and the server terminated the request.
func TestTenThousandFailuresAreCarried(t *testing.T) {
	jobs := make([]string, MaxJobs)
	for i := range jobs {
		jobs[i] = fmt.Sprintf(`{"id":"job-%d","activity":"Test.Job","taskQueue":"jobs","input":"%s"}`, i, strings.Repeat("i", 25))
	}
	c := newTestChain(t, `{"jobs":[`+strings.Join(jobs, ",")+`]}`)
	for range MaxJobs {
		i, ok := c.Next(start)
		require.True(t, ok)
		c.Start(i, start)
		c.End(i, start, End{Kind: Final, Type: strings.Repeat("T", 34), Error: "it failed"})
	}
	require.LessOrEqual(t, carriedBytes(t, c, Run{Created: start}), c.limit)
	require.Equal(t, MaxJobs, c.Count(Fail))
}

// TestJobThatOutgrowsItsRequestFailsWithTooLarge, and what it had left is gone.
func TestJobThatOutgrowsItsRequestFailsWithTooLarge(t *testing.T) {
	for _, e := range []End{
		{Kind: Succeeded, Output: json.RawMessage(`"` + strings.Repeat("o", 1<<20) + `"`)},
		{Kind: Refused, Checkpoint: json.RawMessage(`"` + strings.Repeat("c", 1<<20) + `"`)},
	} {
		c := newTestChain(t, `{"jobs":[{"id":"a","activity":"x","retry":5}],"args":"`+strings.Repeat("a", 1<<20)+`"}`)
		require.Equal(t, "a/1", next(c, start))
		end(c, "a", start, End{Kind: Refused, Checkpoint: json.RawMessage(`"small"`)})
		require.Equal(t, "a/1", next(c, start.Add(time.Hour)))
		end(c, "a", start, e)
		v := c.View(0)
		require.Equal(t, Fail, v.State)
		require.Equal(t, errortype.TooLarge, v.Type)
		require.Contains(t, v.Error, "more than 1835008")
		require.LessOrEqual(t, carriedBytes(t, c, Run{Created: start}), c.limit)
	}
}
