package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sluice/internal/duration"
)

func TestPathsAreJoinedAsTheyAreWritten(t *testing.T) {
	for _, c := range []struct{ prefix, path, want string }{
		{"", "", ""},
		{"", "jobs", "jobs"},
		{"jobs[2]", "", "jobs[2]"},
		{"jobs[2]", "after", "jobs[2].after"},
		{"jobs", "[2].after", "jobs[2].after"},
	} {
		require.Equal(t, c.want, Join(c.prefix, c.path))
	}
	for path, want := range map[string]string{"a.b": "a", "a[2]": "a", "a[2].b": "a[2]", "a": "", "": ""} {
		require.Equal(t, want, Parent(path), path)
	}
	require.Equal(t, "jobs[2]", Index("jobs", 2))
}

func TestHasKnowsWhatIsBelowAPathFromWhatOnlyBeginsLikeIt(t *testing.T) {
	for _, c := range []struct {
		fault, asked string
		want         bool
	}{
		{"a", "a", true},
		{"a.b", "a", true},
		{"a[0]", "a", true},
		{"ab", "a", false},
		{"a", "a.b", false},
		{"", "", false},
		{"a", "", false},
	} {
		var faults Faults
		faults.Add(c.fault, "wrong")
		require.Equal(t, c.want, faults.Has(c.asked), "%q in %q", c.asked, c.fault)
		require.Equal(t, map[string]bool{c.fault: true}, faults.Paths())
	}
}

// readsItself is a value that tells all its faults, or a plain error.
type readsItself struct{}

func (*readsItself) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"plain"` {
		return errors.New("plain")
	}
	var faults Faults
	faults.Add("", "whole")
	faults.Add("x", "one")
	faults.Add("[1]", "two")
	return fmt.Errorf("wrapped: %w", faults)
}

func TestFaultsOfAValueThatReadsItselfComeUnderItsPath(t *testing.T) {
	var got struct {
		A readsItself   `json:"a"`
		B []readsItself `json:"b"`
	}
	faults := Decode([]byte(`{"a":{},"b":["plain"]}`), &got)
	require.EqualError(t, faults.Err(), "a: whole; a.x: one; a[1]: two; b[0]: plain")
}

func TestTheTextOfTenThousandFaultsIsBoundedAndCountsTheRest(t *testing.T) {
	var faults Faults
	require.NoError(t, faults.Err())
	for i := range 10_000 {
		faults.Add(Index("jobs", i), "wrong in some way")
	}
	text := faults.Error()
	require.Less(t, len(text), maxErrorText+100)
	told := strings.Count(text, "wrong in some way")
	require.True(t, strings.HasSuffix(text, fmt.Sprintf("; and %d more", 10_000-told)), text[len(text)-40:])
}

// A list of wrong elements was looked through again for each of them: twenty thousand
// took half a minute, in which a worker did nothing else.
func TestALongListOfWrongElementsIsReadInTime(t *testing.T) {
	var faults Faults
	began := time.Now()
	for i := range 20_000 {
		if at := Index("queues", i); !faults.Has(Join(at, "name")) {
			faults.Add(at, "the number 1 where an object is expected")
		}
	}
	require.Less(t, time.Since(began), 2*time.Second)
	require.Contains(t, faults.Error(), fmt.Sprintf("queues[%d]: the number 1 where an object is expected; and %d more", maxFaults-1, 20_000-maxFaults))
}

// A megabyte of text in the place of a duration left no room for what else was wrong.
func TestAHugeValueOrPathIsToldByItsEndsBesideTheOtherFaults(t *testing.T) {
	huge := strings.Repeat("é", 1<<20)
	var got struct {
		A duration.Duration `json:"a"`
		B int               `json:"b"`
	}
	faults := Decode([]byte(`{"a":"`+huge+`","b":`+strings.Repeat("9", 1<<20)+`,"`+huge+`c":1,"d":2}`), &got)
	text := faults.Error()
	require.Less(t, len(text), 20<<10)
	require.True(t, utf8.ValidString(text))
	for _, want := range []string{`a: "é`, `is not a duration`, "b: the number 99", "where an integer is expected", "éc: unknown field", "d: unknown field"} {
		require.Contains(t, text, want)
	}
}

// A null first does not hide that a field is given twice.
func TestAFieldIsGivenTwiceAlsoWhereOneOfThemIsNull(t *testing.T) {
	for _, raw := range []string{
		`{"name":"n","name":null,"jobs":[]}`,
		`{"name":"n","name":"n","jobs":[]}`,
		`{"name":"n","jobs":[],"name":"m"}`,
	} {
		var got chain
		require.EqualError(t, Decode([]byte(raw), &got).Err(), "name: given twice", raw)
	}
	var got chain
	require.EqualError(t, Decode([]byte(`{"name":null,"name":"n","jobs":[]}`), &got).Err(), "name: given twice; name: required")
	require.EqualError(t, Decode([]byte(`{"name":"n","jobs":[],"done":{"a":null,"a":1},"args":null,"args":1}`), &got).Err(),
		"done.a: given twice; args: given twice")
}

type base struct {
	Inner string `json:"inner" doc:"required"`
}

func TestFieldsOfAnEmbeddedStructAreItsOwn(t *testing.T) {
	var got struct {
		base
		Hidden string `json:"-"`
		Plain  bool
	}
	require.EqualError(t, Decode([]byte(`{"Hidden":"x","Plain":1}`), &got).Err(),
		"Hidden: unknown field; known are inner, Plain; Plain: the number 1 where true or false is expected; inner: required")
	require.NoError(t, Decode([]byte(`{"inner":"i","Plain":true}`), &got).Err())
	require.Equal(t, "i", got.Inner)
	require.True(t, got.Plain)
}

func TestValuesOfAnotherTypeAreNamedWithWhatIsExpected(t *testing.T) {
	for raw, want := range map[string]string{
		`{"u":-1}`:                      "u: the number -1 where an integer of at least 0 is expected",
		`{"small":300}`:                 "small: the number 300 where an integer is expected",
		`{"f":"1"}`:                     "f: a string where a number is expected",
		`{"bytes":"%"}`:                 "bytes: a string where base64 text is expected",
		`{"any":{"n":1},"jobs":[null]}`: "jobs[0]: null where an object is expected",
		`{"byName":{"a":{"id":1}}}`:     "byName.a.id: the number 1 where a string is expected",
		`{"byName":[]}`:                 "byName: a list where an object is expected",
	} {
		var got struct {
			U      uint           `json:"u"`
			Small  int8           `json:"small"`
			F      float64        `json:"f"`
			Bytes  []byte         `json:"bytes"`
			Any    any            `json:"any"`
			Jobs   []job          `json:"jobs"`
			ByName map[string]job `json:"byName"`
		}
		require.EqualError(t, Decode([]byte(raw), &got).Err(), want, raw)
	}
}

func TestNumbersOfAnySizePassThroughExactly(t *testing.T) {
	var got struct {
		Any any `json:"any"`
	}
	require.NoError(t, Decode([]byte(`{"any":[12345678901234567890123,0.10]}`), &got).Err())
	require.Equal(t, []any{json.Number("12345678901234567890123"), json.Number("0.10")}, got.Any)
}

func TestElementsOfMapsGetTheirDefaults(t *testing.T) {
	var got struct {
		ByName map[string]job `json:"byName"`
	}
	require.NoError(t, Decode([]byte(`{"byName":{"a":{"id":"x"},"b":{"id":"y","tries":1}}}`), &got).Err())
	require.Equal(t, map[string]job{"a": {ID: "x", Tries: 3}, "b": {ID: "y", Tries: 1}}, got.ByName)
}
