package document

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/duration"
)

type chain struct {
	Name  string                     `json:"name" doc:"required"`
	Jobs  []job                      `json:"jobs" doc:"required"`
	Limit int                        `json:"limit"`
	Wait  duration.Duration          `json:"wait"`
	Args  json.RawMessage            `json:"args"`
	Done  map[string]json.RawMessage `json:"done"`
	Delay *delay                     `json:"delay"`
}

type job struct {
	ID    string   `json:"id" doc:"required"`
	After []string `json:"after"`
	Tries int      `json:"tries"`
}

func (j *job) SetDefaults() { j.Tries = 3 }

type delay struct {
	Base duration.Duration `json:"base"`
}

func TestDecodeKeepsDefaultsAndReadsTheRest(t *testing.T) {
	got := chain{Limit: 7, Wait: duration.Duration(time.Second)}
	faults := Decode([]byte(`{"name":"n","jobs":[{"id":"a"},{"id":"b","after":["a"],"tries":1}],"wait":null,
		"args":{"n":12345678901234567890123},"done":{"a":null,"b":1},"delay":{"base":"2s"}}`), &got)
	require.Empty(t, faults)
	require.Equal(t, 7, got.Limit)
	require.Equal(t, time.Second, got.Wait.Std())
	require.Equal(t, []job{{ID: "a", Tries: 3}, {ID: "b", After: []string{"a"}, Tries: 1}}, got.Jobs)
	require.JSONEq(t, `{"n":12345678901234567890123}`, string(got.Args))
	require.Equal(t, "null", string(got.Done["a"]))
	require.Equal(t, 2*time.Second, got.Delay.Base.Std())
}

func TestDecodeReportsAllFaultsAtOnce(t *testing.T) {
	var got chain
	faults := Decode([]byte(`{"Name":"n","jobs":[{"id":"a","after":[1,null]},{"tries":"x"}],"limit":1.5,"wait":30,"limit":2,
		"extra":1,"delay":{"base":{}}}`), &got)
	require.EqualError(t, faults.Err(), `Name: unknown field; write "name"; `+
		`jobs[0].after[0]: the number 1 where a string is expected; `+
		`jobs[0].after[1]: null where a string is expected; `+
		`jobs[1].tries: a string where an integer is expected; `+
		`jobs[1].id: required; `+
		`limit: the number 1.5 where an integer is expected; `+
		`wait: a duration is a string with a unit; write "30s"; `+
		`limit: given twice; `+
		`extra: unknown field; known are name, jobs, limit, wait, args, done, delay; `+
		`delay.base: a duration is a string like "30s"; `+
		`name: required`)
	require.True(t, faults.Has("jobs"))
	require.True(t, faults.Has("jobs[1]"))
	require.False(t, faults.Has("job"))
}

func TestDecodeRefusesOtherShapes(t *testing.T) {
	for raw, want := range map[string]string{
		`{"":1,"name":7}`:         `"": a field without a name; name: the number 7 where a string is expected; jobs: required`,
		`[]`:                      "a list where an object is expected",
		`"x"`:                     "a string where an object is expected",
		`{"name":`:                "not valid JSON: unexpected end of JSON input",
		``:                        "name: required; jobs: required",
		`null`:                    "name: required; jobs: required",
		`{"name":null,"jobs":{}}`: "jobs: an object where a list is expected; name: required",
	} {
		var got chain
		require.EqualError(t, Decode([]byte(raw), &got).Err(), want, raw)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"n","jobs":[{"id":"a"}],"delay":{"base":"1s"},"done":{"a":1}}`))
	f.Add([]byte(`{"name":1e999,"jobs":[null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got chain
		if Decode(raw, &got) == nil && len(got.Jobs) > 0 && got.Name == "" && !json.Valid(raw) {
			t.Fatalf("accepted %q", raw)
		}
	})
}
