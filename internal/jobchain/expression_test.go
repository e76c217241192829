package jobchain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/jmespath"
)

// TestExpressionThatWouldKillAWorkerIsRefusedAtTheDoor: such a document once
// overflowed the stack of each worker that took it up, or took it minutes to read.
func TestExpressionThatWouldKillAWorkerIsRefusedAtTheDoor(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("(", 435_000) + "a" + strings.Repeat(")", 435_000),
		strings.Repeat("!", 2_000) + "(a)",
		strings.Repeat("!", 3_000) + "(a)",
	} {
		raw, err := json.Marshal(map[string]any{"jobs": []any{map[string]any{"id": "a", "activity": "x", "input": map[string]any{"$from": text}}}})
		require.NoError(t, err)
		begun := time.Now()
		_, faults := Parse(raw)
		require.Less(t, time.Since(begun), 20*time.Second, "it was minutes")
		require.ErrorContains(t, faults.Err(), "jobs[0].input.$from: ")
		require.Regexp(t, `4096|50 levels`, faults.Err().Error())
		require.Less(t, len(faults.Err().Error()), 1000)
	}
}

// TestInputThatMultipliesIsRefused: what a job is given can't grow past what a
// request may hold, however often its document asks for the same.
func TestInputThatMultipliesIsRefused(t *testing.T) {
	args, err := json.Marshal(map[string]any{"text": strings.Repeat("x", 1<<20), "list": make([]int, 100_000)})
	require.NoError(t, err)
	many, err := json.Marshal([]any{strings.Split(strings.TrimSuffix(strings.Repeat(`{"$from":"args.text"};`, 1000), ";"), ";")})
	require.NoError(t, err)
	many = []byte(strings.NewReplacer(`"{`, `{`, `}"`, `}`, `\"`, `"`).Replace(string(many)))
	data := NewData(args, nil)
	_, err = resolve(many, data)
	var oversize *OversizeError
	require.ErrorAs(t, err, &oversize)

	_, err = resolve(json.RawMessage(`{"$from":"args.list`+strings.Repeat(`|[@,@][]`, 40)+`"}`), data)
	require.ErrorContains(t, err, "it takes too many steps over this much data")
}

// resolve is Resolve with what an input may cost.
func resolve(input json.RawMessage, data *Data) (json.RawMessage, error) {
	return Resolve(input, data, jmespath.NewBudget(maxInputSteps))
}

// fileRequest is a request of so many jobs, each of which asks for one of many
// files by an expression of its own.
func fileRequest(jobs, files int) []byte {
	list := make([]any, files)
	for i := range list {
		list[i] = map[string]any{"id": fmt.Sprintf("f%d", i), "size": i * 7919 % files, "key": fmt.Sprintf("in/2024/%06d.ndjson", i)}
	}
	all := make([]any, jobs)
	for i := range all {
		all[i] = map[string]any{"id": fmt.Sprintf("j%d", i), "activity": "x", "input": map[string]any{
			"$from": fmt.Sprintf("sort_by(args.files,&size)[?id=='f%d']|[0]", i)}}
	}
	raw, _ := json.Marshal(map[string]any{"args": map[string]any{"files": list}, "jobs": all}) // it always has a JSON form
	return raw
}

// TestInputsOfAHugeRequestAreCheap: an expression over 27,500 files costs some
// steps for each of them, however many jobs there are.
func TestInputsOfAHugeRequestAreCheap(t *testing.T) {
	doc, faults := Parse(fileRequest(3, 27_500))
	require.NoError(t, faults.Err())
	c := NewChain(&doc, nil)
	for i := range 3 {
		input, steps, err := c.Input(i)
		require.NoError(t, err)
		require.Contains(t, string(input), fmt.Sprintf(`"id":"f%d"`, i))
		require.Less(t, steps, 12*27_500)
	}
}

func TestErrorOfALongExpressionIsShort(t *testing.T) {
	text := "abs(" + strings.Repeat("args.", 700) + "x)"
	_, err := resolve(json.RawMessage(`{"$from":"`+text+`"}`), NewData(nil, nil))
	require.Error(t, err)
	require.Less(t, len(err.Error()), 400)
}

// BenchmarkInputs makes the inputs of fileRequest's jobs.
func BenchmarkInputs(b *testing.B) {
	raw, steps := fileRequest(500, 27_500), 0
	for b.Loop() {
		doc, faults := Parse(raw)
		require.Empty(b, faults)
		c := NewChain(&doc, nil)
		for i := range doc.Jobs {
			_, cost, err := c.Input(i)
			require.NoError(b, err)
			steps += cost
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
}
