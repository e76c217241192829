package jobchain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/errortype"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func newTestChain(t require.TestingT, document string) *Chain {
	doc, faults := Parse([]byte(document))
	require.NoError(t, faults.Err())
	return NewChain(&doc, map[string]any{"id": "r"})
}

// next starts the next job and returns its ID and try, "" for none.
func next(c *Chain, now time.Time) string {
	i, ok := c.Next(now)
	if !ok {
		return ""
	}
	number, _ := c.Start(i, now)
	return fmt.Sprintf("%s/%d", c.Job(i).ID, number)
}

func end(c *Chain, id string, now time.Time, e End) {
	i, _ := c.Index(id)
	c.End(i, now, e)
}

func TestOrderIsByPriorityThenList(t *testing.T) {
	c := newTestChain(t, `{"jobs":[{"id":"a","activity":"x"},{"id":"b","activity":"x","priority":1},{"id":"c","activity":"x","priority":1},{"id":"d","activity":"x","after":["a"]}]}`)
	require.Equal(t, []string{"b/1", "c/1", "a/1", ""}, []string{next(c, start), next(c, start), next(c, start), next(c, start)})
	end(c, "a", start, End{})
	require.Equal(t, "d/1", next(c, start))
}

func TestCaseR09TriesThatDoNotCount(t *testing.T) {
	c := newTestChain(t, `{"jobs":[{"id":"a","activity":"x","retry":1,"retryWait":"1m"}]}`)
	now := start
	for n := range 5 {
		require.Equal(t, "a/1", next(c, now))
		end(c, "a", now, End{Kind: Paused, Checkpoint: json.RawMessage(fmt.Sprint(n))})
		require.Equal(t, Stopped, c.View(0).State)
		require.Empty(t, next(c, now.Add(time.Hour)), "nothing starts while it is suspended")
		c.Release()
		now = now.Add(time.Second)
		_, checkpoint := c.Peek(0)
		require.Equal(t, fmt.Sprint(n), string(checkpoint))
	}
	for _, kind := range []Kind{Interrupted, Refused, Lost} {
		require.Equal(t, "a/1", next(c, now))
		end(c, "a", now, End{Kind: kind, Random: 0.5})
		require.Empty(t, next(c, now), "never the same activity ID twice in one workflow task")
		now = c.WakeAt()
	}
	require.Equal(t, "a/1", next(c, now))
	end(c, "a", now, End{Kind: Failed, Error: "counts"})
	require.Equal(t, now.Add(time.Minute), c.WakeAt())
	require.Equal(t, "a/2", next(c, c.WakeAt()))
	end(c, "a", now, End{Kind: Failed})
	require.True(t, c.Done())
	require.Equal(t, Fail, c.Outcome())
	require.Equal(t, 2, c.Log().Len())
}

func TestTenthHeartbeatTimeoutInARowFails(t *testing.T) {
	c := newTestChain(t, `{"jobs":[{"id":"a","activity":"x","retry":3}]}`)
	now := start
	lose := func(times int) {
		for range times {
			require.Equal(t, "a/1", next(c, now))
			end(c, "a", now, End{Kind: Lost})
			now = now.Add(time.Second)
		}
	}
	lose(9)
	require.Equal(t, "a/1", next(c, now))
	end(c, "a", now, End{Kind: Interrupted})
	now = now.Add(time.Second)
	lose(10)
	require.Equal(t, Fail, c.View(0).State)
	require.Equal(t, errortype.WorkerLost, c.View(0).Type)
	require.True(t, c.Done())
}

func TestSequenceWaitsForItsRunningJobs(t *testing.T) {
	c := newTestChain(t, `{"sequences":{"s":{"retry":1,"retryWait":"1m"}},"jobs":[
		{"id":"a","activity":"x","sequence":"s"},{"id":"b","activity":"x","sequence":"s"},{"id":"c","activity":"x","sequence":"s","after":["a"]},
		{"id":"z","activity":"x","after":["a"]}]}`)
	require.Equal(t, "a/1", next(c, start))
	require.Equal(t, "b/1", next(c, start))
	end(c, "a", start, End{Output: json.RawMessage(`1`)})
	require.Equal(t, "c/1", next(c, start))
	require.Equal(t, "z/1", next(c, start))
	end(c, "c", start, End{Kind: Failed})
	require.Equal(t, Running, c.View(1).State, "b is waited for")
	require.Empty(t, next(c, start.Add(time.Hour)))
	require.Equal(t, 1, c.Finished())
	end(c, "b", start, End{})
	require.Zero(t, c.Finished(), "what the sequence had finished counts no more")
	end(c, "z", start, End{})
	require.False(t, c.Done())
	require.Empty(t, next(c, start))
	now := c.WakeAt()
	require.Equal(t, start.Add(time.Minute), now)
	require.Equal(t, []string{"a/2", "b/2", ""}, []string{next(c, now), next(c, now), next(c, now)})
	end(c, "b", now, End{Kind: Failed})
	require.Equal(t, Fail, c.View(1).State, "its one retry is spent")
	end(c, "a", now, End{})
	require.Equal(t, "c/2", next(c, now), "jobs beside the failed one go on")
	end(c, "c", now, End{})
	require.True(t, c.Done())
	require.Equal(t, Fail, c.Outcome())
}

func TestCaseR13WhatARunCannotCarryIsRefused(t *testing.T) {
	c := newTestChain(t, `{"jobs":[{"id":"a","activity":"x","retry":3},{"id":"b","activity":"x"}]}`)
	require.Equal(t, "a/1", next(c, start))
	require.Equal(t, "b/1", next(c, start))
	end(c, "a", start, End{Output: json.RawMessage(`"` + strings.Repeat("x", MaxCarried) + `"`)})
	v := c.View(0)
	require.Equal(t, Fail, v.State)
	require.Equal(t, errortype.TooLarge, v.Type)
	require.Contains(t, v.Error, fmt.Sprint(MaxCarried))
	end(c, "b", start, End{Kind: Lost, Checkpoint: json.RawMessage(`"` + strings.Repeat("x", MaxCarried) + `"`)})
	require.Equal(t, errortype.TooLarge, c.View(1).Type)
}

// TestChainAgainstItsDescription runs random chains with random ends against the
// rules as the contract words them, and through Carry and Restore at any point.
func TestChainAgainstItsDescription(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document, after := drawDocument(t)
		c := newTestChain(t, document)
		now, limit := start, rapid.IntRange(1, 4).Draw(t, "parallel")
		running, tries, succeeded := map[int]bool{}, map[int]int{}, map[string]bool{}
		seq := strings.Contains(document, "sequences")
		for step := 0; step < 200 && !c.Done(); step++ {
			for len(running) < limit {
				i, ok := c.Next(now)
				if !ok {
					break
				}
				for _, before := range after[i] {
					require.Equal(t, Complete, c.View(before).State, "started before its predecessor was complete")
				}
				number, _ := c.Start(i, now)
				require.False(t, running[i], "dispatched while it runs")
				require.GreaterOrEqual(t, number, tries[i], "try numbers rise")
				require.False(t, succeeded[fmt.Sprint(i, "/", number)], "dispatched again after success")
				running[i], tries[i] = true, number
			}
			if i, ok := anyOf(t, running); ok {
				e := drawEnd(t)
				c.End(i, now, e)
				delete(running, i)
				if e.Kind == Succeeded {
					succeeded[fmt.Sprint(i, "/", tries[i])] = true
				}
				if e.Kind == Paused && rapid.Bool().Draw(t, "resume") {
					c.Release()
				}
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "s")) * time.Second)
			if rapid.IntRange(0, 9).Draw(t, "roll") == 0 {
				c = rolled(t, c)
			}
			if len(running) == 0 {
				c.Release()
			}
		}
		checkCounts(t, c)
		if c.Done() && !seq {
			checkOutcome(t, c, after)
		}
	})
}

func drawDocument(t *rapid.T) (string, [][]int) {
	n := rapid.IntRange(1, 8).Draw(t, "jobs")
	after := make([][]int, n)
	jobs := make([]string, n)
	sequenced := rapid.Bool().Draw(t, "sequenced")
	for i := range jobs {
		var ids []string
		for before := range i {
			if rapid.IntRange(0, 3).Draw(t, "after") == 0 {
				after[i] = append(after[i], before)
				ids = append(ids, fmt.Sprintf(`"j%d"`, before))
			}
		}
		extra := ""
		if sequenced && rapid.Bool().Draw(t, "in") {
			extra = `,"sequence":"s"`
		}
		jobs[i] = fmt.Sprintf(`{"id":"j%d","activity":"x","retry":%d,"retryWait":"30s","after":[%s]%s}`,
			i, rapid.IntRange(0, 2).Draw(t, "retry"), strings.Join(ids, ","), extra)
	}
	sequences := ""
	if sequenced {
		sequences = `"sequences":{"s":{"retry":2,"retryWait":"10s"}},`
	}
	return `{` + sequences + `"jobs":[` + strings.Join(jobs, ",") + `]}`, after
}

func drawEnd(t *rapid.T) End {
	return End{
		Kind:   rapid.SampledFrom([]Kind{Succeeded, Succeeded, Succeeded, Failed, Final, Interrupted, Refused, Lost, Halted, Paused, Paused}).Draw(t, "kind"),
		Output: json.RawMessage(`{"n":1}`), Random: 0.3, IDSpent: rapid.Bool().Draw(t, "spent"),
	}
}

func anyOf(t *rapid.T, running map[int]bool) (int, bool) {
	var all []int
	for i := range 10 {
		if running[i] {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return rapid.SampledFrom(all).Draw(t, "which"), true
}

// rolled is the chain after continue-as-new.
func rolled(t *rapid.T, c *Chain) *Chain {
	doc, carried := c.Carry(start, 0, MaxCarried)
	raw, err := json.Marshal(doc)
	require.NoError(t, err)
	carriedRaw, err := json.Marshal(carried)
	require.NoError(t, err)
	parsed, faults := Parse(raw)
	require.NoError(t, faults.Err())
	var back Carried
	require.NoError(t, json.Unmarshal(carriedRaw, &back))
	again := Restore(&parsed, map[string]any{"id": "r"}, back)
	for i := range c.jobs {
		require.Equal(t, c.View(i), again.View(i))
		was, is := c.jobs[i], again.jobs[i]
		was.output, is.output, was.checkpoint, is.checkpoint = nil, nil, nil, nil
		require.Equal(t, was, is)
	}
	require.Equal(t, c.carried, again.carried)
	require.Equal(t, c.open, again.open)
	return again
}

func checkCounts(t *rapid.T, c *Chain) {
	counts, open := map[State]int{}, 0
	for i := range c.jobs {
		counts[c.jobs[i].state]++
		if c.jobs[i].state == Pending && c.jobs[i].unmet == 0 {
			open++
		}
	}
	for _, s := range states {
		require.Equal(t, counts[s], c.counts[s], string(s))
	}
	require.Equal(t, open, c.open)
	last := map[int]int{}
	for n := range c.log.Len() {
		e := c.log.At(n)
		require.Greater(t, e.Try, last[e.Job], "try numbers in the log are unique and rise")
		last[e.Job] = e.Try
	}
}

// checkOutcome says again, from the jobs alone, how a chain ends: those that are
// PENDING have a predecessor that is not COMPLETE.
func checkOutcome(t *rapid.T, c *Chain, after [][]int) {
	failed, complete := false, true
	for i := range c.jobs {
		s := c.View(i).State
		failed, complete = failed || s == Fail, complete && s == Complete
		blocked := false
		for _, before := range after[i] {
			blocked = blocked || c.View(before).State != Complete
		}
		require.Equal(t, s == Pending, blocked, "job %d is %s", i, s)
	}
	want := Stopped
	if complete {
		want = Complete
	} else if failed {
		want = Fail
	}
	require.Equal(t, want, c.Outcome())
}

func TestTenThousandJobsAreCarried(t *testing.T) {
	c := newTestChain(t, chainOf(MaxJobs))
	now := start
	for range MaxJobs {
		i, ok := c.Next(now)
		require.True(t, ok)
		c.Start(i, now)
		now = now.Add(time.Second)
		c.End(i, now, End{Output: json.RawMessage(`{"rows":12345,"ok":true}`)})
	}
	require.True(t, c.Done())
	doc, carried := c.Carry(start, 0, MaxCarried)
	raw, err := json.Marshal(struct {
		Document
		Carried Carried `json:"carried"`
	}{doc, carried})
	require.NoError(t, err)
	require.Less(t, len(raw), MaxCarried)
	t.Logf("%d jobs: %d bytes carried, %d log entries dropped", MaxJobs, len(raw), carried.Dropped)
}
