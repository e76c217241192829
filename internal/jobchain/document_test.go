package jobchain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/document"
	"sluice/internal/jmespath"
)

func TestParseReportsAllFaultsAtOnce(t *testing.T) {
	_, faults := Parse([]byte(`{"maxParallelJobs":1001,"fairnessKey":"` + strings.Repeat("k", 65) + `","sequences":{"s":{"retry":-1}},
		"finished":{"gone":1},"jobs":[
		{"id":"a","activity":"x","after":["b"],"retry":-1,"timeout":"0s","priority":6},
		{"id":"b","activity":"x","workflow":"y","after":["c","c","reed"]},
		{"id":"c","activity":"x","after":["a"],"sequence":"t"},
		{"id":"a","activity":"x"},
		{"id":"sp ace","activity":"x","input":{"l":[{"$from":"jobs.nobody.n"},{"$from":"args.*"},{"$from":"keys(args)"},{"$from":"values(args)"},{"$from":"a["},{"$from":7},{"$from":"jobs.a"}]}}]}`))
	require.Equal(t, []string{
		`jobs[0].retry: -1; at least 0`,
		`jobs[0].timeout: 0s; it has to be longer`,
		`jobs[0].priority: 6; allowed are 1 (first) to 5`,
		`jobs[1]: give either activity or workflow`,
		`jobs[2].sequence: no sequence "t"`,
		`jobs[3].id: "a" is the ID of jobs[0] already`,
		`jobs[4].id: "sp ace"; an ID is 1 to 100 of A-Z a-z 0-9 _ . -`,
		`jobs[1].after[1]: "c" is given twice`,
		`jobs[1].after[2]: no job "reed"`,
		`jobs[0].after: cycle: a after b after c after a`,
		`jobs[4].input.l[0].$from: "jobs.nobody.n": no job "nobody"`,
		`jobs[4].input.l[1].$from: "args.*": an object wildcard has no fixed order; name the fields`,
		`jobs[4].input.l[2].$from: "keys(args)": keys() has no fixed order; name the fields`,
		`jobs[4].input.l[3].$from: "values(args)": values() has no fixed order; name the fields`,
		`jobs[4].input.l[4].$from: "a[" is not a JMESPath expression: at character 3: unexpected the end`,
		`jobs[4].input.l[5].$from: a JMESPath expression is a string`,
		`jobs[4].input.l[6].$from: "jobs.a": job "a" need not be complete by then; name it in after`,
		`sequences.s.retry: -1; at least 0`,
		`finished.gone: no job "gone"`,
		`maxParallelJobs: 1001; allowed are 0 (for 500) to 1000`,
		`fairnessKey: 65 bytes; at most 64`,
	}, texts(faults))
}

func texts(faults document.Faults) []string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.String()
	}
	return lines
}

func TestParseTellsAJobThatWaitsForItself(t *testing.T) {
	_, faults := Parse([]byte(`{"jobs":[{"id":"a","activity":"x","after":["a"]},{"id":"b","activity":"x","after":["a"]}]}`))
	require.EqualError(t, faults.Err(), "jobs[0].after: it waits for itself")
}

// TestParseTellsMeaningBesideForm: a value that can't be read hides no other
// fault, and is not complained of twice.
func TestParseTellsMeaningBesideForm(t *testing.T) {
	_, faults := Parse([]byte(`{"type":5,"foo":1,"suspendTTL":3,"maxParallelJobs":-1,"sequences":[],"jobs":["x",
		{"id":"","activity":7,"sequence":"s"},{"id":"a","retry":"1","activity":"x","after":["b"]}],"finished":{"b":1}}`))
	require.Equal(t, []string{
		`type: the number 5 where a string is expected`,
		`foo: unknown field; known are type, args, jobs, sequences, suspendTTL, deadline, maxParallelJobs, fairnessKey, finished`,
		`suspendTTL: a duration is a string with a unit; write "3s"`,
		`sequences: a list where an object is expected`,
		`jobs[0]: a string where an object is expected`,
		`jobs[1].activity: the number 7 where a string is expected`,
		`jobs[2].retry: a string where an integer is expected`,
		`jobs[1].id: ""; an ID is 1 to 100 of A-Z a-z 0-9 _ . -`,
		`jobs[2].after[0]: no job "b"`,
		`finished.b: no job "b"`,
		`maxParallelJobs: -1; allowed are 0 (for 500) to 1000`,
	}, texts(faults))
	_, faults = Parse([]byte(strings.Replace(chainOf(MaxJobs+1), `"activity"`, `"activty"`, 1)))
	require.Len(t, faults, 3, "too many jobs, one with a typing error and so without an activity")
	_, faults = Parse([]byte(`[1]`))
	require.EqualError(t, faults.Err(), "a list where an object is expected")
}

// TestParseOfManyFaultsIsQuickAndShort: ten thousand wrong jobs are told within
// a workflow task and within a message.
func TestParseOfManyFaultsIsQuickAndShort(t *testing.T) {
	_, faults := Parse([]byte(`{"jobs":[` + strings.Repeat(`{"foo":1,"bar":2},`, MaxJobs-1) + `{}]}`))
	require.NotEmpty(t, faults)
	require.Less(t, len(faults.Err().Error()), 70<<10)
	require.Regexp(t, `; and \d+ more$`, faults.Err().Error())
}

func TestParseCountsJobs(t *testing.T) {
	_, faults := Parse([]byte(`{"jobs":[]}`))
	require.EqualError(t, faults.Err(), "jobs: 0 jobs; allowed are 1 to 10000")
	_, faults = Parse([]byte(chainOf(MaxJobs + 1)))
	require.EqualError(t, faults.Err(), "jobs: 10001 jobs; allowed are 1 to 10000")
	_, faults = Parse([]byte(chainOf(MaxJobs)))
	require.NoError(t, faults.Err())
}

// BenchmarkParse reads the largest document, each job with an expression. It has
// to stay well below a second, after which a workflow task counts as hanging.
func BenchmarkParse(b *testing.B) {
	jobs := make([]string, MaxJobs)
	for i := range jobs {
		after := ""
		if i > 0 {
			after = fmt.Sprintf(`,"after":["j%d"],"input":{"$from":"jobs.j0"}`, i-1)
		}
		jobs[i] = fmt.Sprintf(`{"id":"j%d","activity":"x"%s}`, i, after)
	}
	raw := []byte(`{"jobs":[` + strings.Join(jobs, ",") + `]}`)
	b.ResetTimer()
	for b.Loop() {
		doc, faults := Parse(raw)
		require.Empty(b, faults)
		NewChain(&doc, nil)
	}
}

func chainOf(n int) string {
	jobs := make([]string, n)
	for i := range jobs {
		after := ""
		if i > 0 {
			after = fmt.Sprintf(`,"after":["j%d"]`, i-1)
		}
		jobs[i] = fmt.Sprintf(`{"id":"j%d","activity":"x"%s}`, i, after)
	}
	return `{"jobs":[` + strings.Join(jobs, ",") + `]}`
}

func TestDocumentIsWrittenWithoutItsDefaults(t *testing.T) {
	raw := `{"jobs":[{"id":"a","activity":"x"}],"suspendTTL":"0s"}`
	doc, faults := Parse([]byte(raw))
	require.NoError(t, faults.Err())
	require.Equal(t, defaultTimeout, doc.Jobs[0].Timeout.Std())
	require.Equal(t, 3, doc.Jobs[0].Priority)
	require.Zero(t, doc.SuspendTTL)
	written, err := json.Marshal(doc)
	require.NoError(t, err)
	require.JSONEq(t, `{"args":{},"jobs":[{"id":"a","activity":"x"}],"suspendTTL":"0s"}`, string(written))
}

func inexact(expression, number string) string {
	return fmt.Sprintf("%q: %v", expression, &jmespath.InexactError{Number: number})
}

func TestResolve(t *testing.T) {
	data := NewData(json.RawMessage(`{"big":12345678901234567890123,"half":0.5,"exp":1e400,"list":[3,1,2],"null":null,
		"rows":[{"name":"a","id":7},{"name":"b","id":9007199254740993}]}`),
		map[string]any{"id": "r", "run": "R"})
	data.Set("a.b", json.RawMessage(`{"rows":[{"n":3},{"n":1}]}`))
	data.Set("skipped", json.RawMessage(`null`))
	for _, c := range []struct{ in, want, err string }{
		{in: ``, want: `null`},
		{in: `{"plain":1e400}`, want: `{"plain":1e400}`},
		{in: `{"$from":"args.big"}`, want: `12345678901234567890123`},
		{in: `{"$from":"args.exp"}`, want: `1e400`},
		{in: `[{"$from":"args.half"},{"x":{"$from":"request.run"}}]`, want: `[0.5,{"x":"R"}]`},
		{in: `{"$from":"sort_by(jobs.\"a.b\".rows,&n)[0].n"}`, want: `1`},
		{in: `{"$from":"jobs.\"a.b\".rows[0].n"}`, want: `3`}, // sort_by sorted a copy
		{in: `{"$from":"args.list[?@ > ` + "`1`" + `]"}`, want: `[3,2]`},
		{in: `{"$literal":{"$from":"nonsense["}}`, want: `{"$from":"nonsense["}`},
		{in: `{"$from":"args.list","more":1}`, want: `{"$from":"args.list","more":1}`},
		{in: `{"\u0024from":"args.half"}`, want: `0.5`},
		{in: `{"$from":"args.null"}`, want: `null`}, // it is there
		{in: `{"$from":"jobs.skipped"}`, want: `null`},
		{in: `{"$from":"jobs.skipped.x"}`, err: `"jobs.skipped.x": there is no such value`},
		{in: `{"a":{"$from":"args.nope"}}`, err: `"args.nope": there is no such value`},
		{in: `{"$from":"abs('x')"}`, err: `"abs('x')": abs(): argument 1 is string; it takes a number`},
		{in: `{"$from":"args.big > ` + "`5`" + `"}`, err: inexact("args.big > `5`", "12345678901234567890123")},
		{in: `{"$from":"args.big == ` + "`5`" + `"}`, want: `false`}, // however it is rounded
		{in: `{"$from":"args.rows[?id == ` + "`9007199254740992`" + `].id"}`, err: inexact("args.rows[?id == `9007199254740992`].id", "9007199254740993")},
		{in: `{"$from":"args.rows[?id > ` + "`1`" + `].id"}`, err: inexact("args.rows[?id > `1`].id", "9007199254740993")},
		{in: `{"$from":"args.rows[?name == 'b'].id"}`, want: `[9007199254740993]`},
		{in: `{"$from":"max(args.rows[*].id)"}`, err: strings.Replace(inexact("max(args.rows[*].id)", "9007199254740993"), ": 9", ": max(): 9", 1)},
		{in: `{"$from":"to_string(args.big)"}`, want: `"12345678901234567890123"`},
		{in: `{"$from":"args.list[::0]"}`, err: `"args.list[::0]": the step of a slice can't be 0`},
	} {
		got, err := resolve(json.RawMessage(c.in), data)
		if c.err != "" {
			require.EqualError(t, err, c.err, c.in)
			continue
		}
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, string(got), c.in)
	}
}

// What was put in is data: an output that looks like an expression stays one.
func TestResolveDoesNotSearchWhatItPutIn(t *testing.T) {
	data := NewData(json.RawMessage(`{"trap":{"$from":"request.id"}}`), map[string]any{"id": "r"})
	got, err := resolve(json.RawMessage(`{"x":{"$from":"args.trap"}}`), data)
	require.NoError(t, err)
	require.JSONEq(t, `{"x":{"$from":"request.id"}}`, string(got))
}

func FuzzResolve(f *testing.F) {
	f.Add(`{"$from":"args.list[?@ > `+"`1`"+`]"}`, `{"list":[1,2]}`)
	f.Add(`{"$from":"args.list[::0] | sort_by(@,&x)"}`, `{"list":[]}`)
	f.Fuzz(func(t *testing.T, input, args string) {
		if !json.Valid([]byte(input)) || !json.Valid([]byte(args)) {
			return
		}
		data := NewData(json.RawMessage(args), nil)
		first, err := resolve(json.RawMessage(input), data)
		again, errAgain := resolve(json.RawMessage(input), NewData(json.RawMessage(args), nil))
		if string(first) != string(again) || (err == nil) != (errAgain == nil) {
			t.Fatalf("%s with %s: %s, then %s", input, args, first, again)
		}
	})
}
