package jmespath

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHostileExpressionIsRefusedOrReadAtOnce: depth and length are bounded before
// anything is built of them.
func TestHostileExpressionIsRefusedOrReadAtOnce(t *testing.T) {
	repeat := strings.Repeat
	const most = 10 * time.Millisecond * slowdown
	for _, text := range []string{
		repeat("(", 435_000) + "a" + repeat(")", 435_000),
		repeat("!", 2_000) + "(a)", repeat("!", 3_000) + "(a)", repeat("!", MaxLength-1) + "a",
		repeat("(", MaxLength), repeat("[", MaxLength), repeat("{a:", MaxLength/3), repeat("a[?", MaxLength/3), repeat("&", MaxLength),
		repeat("abs(", MaxLength/4), repeat("[*]", MaxLength/3), repeat("a[*].", MaxLength/5), "a" + repeat("[]", 2_000), "a" + repeat("[0]", 1_300),
		"a" + repeat(".a", 2_000), "a" + repeat("|a", 2_000), "a" + repeat("||a", 1_300), "a" + repeat("==a", 1_300), "*" + repeat(".*", 2_000),
		"[" + repeat("a,", 2_000) + "a]", "`" + repeat("[", 4_000) + "`", "\"" + repeat(`\u00e9`, 600) + "\"", repeat("'", MaxLength), repeat("\\", MaxLength),
		repeat("a ", MaxLength/2), repeat("\x00", MaxLength), repeat("€", MaxLength/3),
	} {
		require.Less(t, fastest(text), most, "%.20s…", text)
	}
}

// fastest is how long it takes to compile an expression, of some times: other
// processes may have the cores.
func fastest(text string) time.Duration {
	took := time.Hour
	for range 5 {
		begun := time.Now()
		if e, err := Compile(text); err == nil {
			e.Unordered()
			e.Path()
		}
		took = min(took, time.Since(begun))
	}
	return took
}

func TestExpressionNestedTooDeepIsRefused(t *testing.T) {
	for _, c := range []struct{ name, open, close string }{
		{"parentheses", "(", ")"}, {"lists", "[", "]"}, {"objects", "{a:", "}"}, {"negations", "!", ""}, {"filters", "a[?", "]"},
		{"calls", "abs(", ")"}, {"projections", "a[*].", ""},
	} {
		nested := func(n int) error {
			_, err := Compile(strings.Repeat(c.open, n) + "a" + strings.Repeat(c.close, n))
			return err
		}
		require.NoError(t, nested(MaxDepth), c.name)
		require.ErrorContains(t, nested(MaxDepth+1), "nested deeper than 50 levels", c.name)
	}
	_, err := Compile(strings.Repeat("a", MaxLength))
	require.NoError(t, err)
	_, err = Compile(strings.Repeat("a", MaxLength+1))
	require.EqualError(t, err, "4097 bytes; at most 4096")
}

// TestValueThatMultipliesIsGivenUp: a short expression may ask for 2^50 elements
// or for a text of gigabytes.
func TestValueThatMultipliesIsGivenUp(t *testing.T) {
	list := make([]any, 1000)
	for i := range list {
		list[i] = strings.Repeat("x", 1000)
	}
	doubled := "@" + strings.Repeat("|[@,@][]", 49)
	for _, text := range []string{
		doubled,
		"@" + strings.Repeat("|[@,@]", 49) + "|to_string(@)",
		"@" + strings.Repeat("|[@,@]", 49) + "|@==@",
		"@" + strings.Repeat("|[join('',@),join('',@)]", 40),
		"@" + strings.Repeat("|map(&[@,@],@)[]", 40),
		"@" + strings.Repeat("|[@,@][]", 15) + "|sort(@)",
		"@" + strings.Repeat("|[@,@][]", 12) + "|max(@)",
	} {
		e, err := Compile(text)
		require.NoError(t, err)
		budget := NewBudget(1_000_000)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		value, err := e.Search(list, budget)
		if err == nil {
			_, err = AppendJSON(nil, value, 1<<20, budget)
		}
		runtime.ReadMemStats(&after)
		require.Error(t, err, text)
		require.LessOrEqual(t, budget.Spent(), 1_000_000)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20), text)
	}
}

// TestSameStepsForTheSameData: what is counted decides what the workflow does
// next, so replay has to count alike.
func TestSameStepsForTheSameData(t *testing.T) {
	var data any
	require.NoError(t, json.Unmarshal([]byte(document), &data))
	for _, text := range []string{"sort_by(a.b[?c], &c)[*].{x: a, y: c}", "merge(a, e) == e", "to_string(@)", "keys(@)", "*.a"} {
		e, err := Compile(text)
		require.NoError(t, err)
		steps := map[int]bool{}
		for range 20 {
			budget := Unlimited()
			_, err := e.Search(data, budget)
			require.NoError(t, err)
			steps[budget.Spent()] = true
		}
		require.Len(t, steps, 1, text)
	}
}

func TestSortOfManyElementsEvaluatesEachOnce(t *testing.T) {
	list := make([]any, 27_500)
	for i := range list {
		list[i] = map[string]any{"id": fmt.Sprintf("f%d", i), "size": json.Number(fmt.Sprint(i * 7919 % 27_500))}
	}
	e, err := Compile("sort_by(files,&size)[?id=='f17']|[0].size")
	require.NoError(t, err)
	budget := Unlimited()
	value, err := e.Search(map[string]any{"files": list}, budget)
	require.NoError(t, err)
	require.Equal(t, json.Number("24623"), value)
	require.Less(t, budget.Spent(), 12*len(list))
}

func TestSliceWithHugeBounds(t *testing.T) {
	list := []any{"a", "b", "c"}
	for text, want := range map[string]string{
		"[9223372036854775807:]": `[]`, "[-9223372036854775808:]": `["a","b","c"]`, "[::9223372036854775807]": `["a"]`,
		"[::-9223372036854775808]": `["c"]`, "[9223372036854775807::-1]": `["c","b","a"]`, "[:-9223372036854775808:-1]": `["c","b","a"]`,
	} {
		value, err := searchText(text, list)
		require.NoError(t, err, text)
		encoded, err := AppendJSON(nil, value, math.MaxInt, Unlimited())
		require.NoError(t, err)
		require.Equal(t, want, string(encoded), text)
	}
	_, err := searchText("[99999999999999999999]", list)
	require.EqualError(t, err, `at character 2: "99999999999999999999" is not an index`)
}

func TestFaultsAreToldInWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                "at character 1: unexpected the end",
		"a[":              "at character 3: unexpected the end",
		"a b":             `at character 3: unexpected a name ("b")`,
		"a)":              `at character 2: unexpected ")"`,
		"a ~":             `at character 3: unexpected '~'`,
		"'x":              "at character 1: a string without its closing '",
		"`{`":             "at character 1: a literal that is not JSON: unexpected EOF",
		"&a":              "at character 1: & only stands before an argument of a function",
		"a.b.(c)":         `at character 5: unexpected "("`,
		"size(a)":         "no function size(); known are abs, avg, ceil, contains, ends_with, floor, join, keys, length, map, max, max_by, merge, min, min_by, not_null, reverse, sort, sort_by, starts_with, sum, to_array, to_number, to_string, type, values",
		"abs(a, b)":       "abs() with 2 arguments; it takes 1",
		"sort_by(a, b)":   "sort_by(): argument 2 is an expression after &",
		"abs('x')":        "abs(): argument 1 is string; it takes a number",
		"sum(['x'])":      "sum(): element 0 is string; it takes an array of numbers",
		"max([`1`, 'x'])": "max(): element 1 is ordered by string; all are ordered by numbers, or all by strings",
		"[0][::0]":        "the step of a slice can't be 0",
	} {
		_, err := searchText(text, []any{[]any{}})
		require.EqualError(t, err, want, text)
	}
}

func TestNumberIsNeverComparedAfterItLostDigits(t *testing.T) {
	var data any
	decoder := json.NewDecoder(strings.NewReader(`{"big":9007199254740993,"exp":1e400,"same":9007199254740993,"one":1.0,"tenth":0.1,"list":[1,9007199254740993]}`))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&data))
	for text, want := range map[string]string{
		"big": "9007199254740993", "exp": "1e400", "big == same": "true", "big == `5`": "false", "one == `1`": "true", "tenth < `0.2`": "true",
		"to_string(big)": `"9007199254740993"`, "to_number('12345678901234567890')": "12345678901234567890", "type(big)": `"number"`,
		"contains(list, `1`)": "true", "one": "1.0", "to_number(' 1')": "null", "to_number('0x1')": "null", "to_number('NaN')": "null",
	} {
		value, err := searchText(text, data)
		require.NoError(t, err, text)
		encoded, err := AppendJSON(nil, value, math.MaxInt, Unlimited())
		require.NoError(t, err)
		require.Equal(t, want, string(encoded), text)
	}
	for _, text := range []string{"big == `9007199254740992`", "big > `5`", "sum(list)", "max(list)", "sort(list)", "abs(exp)", "contains(list, `9007199254740992`)",
		"list[?@ > `0`]", "[big] == [`9007199254740992`]"} {
		_, err := searchText(text, data)
		var inexact *InexactError
		require.ErrorAs(t, err, &inexact, text)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("a.b[?c > `1`].d | sort_by(@, &x)[::-2]", document)
	f.Fuzz(func(t *testing.T, text, data string) {
		var value any
		decoder := json.NewDecoder(strings.NewReader(data))
		decoder.UseNumber()
		if decoder.Decode(&value) != nil {
			return
		}
		e, err := Compile(text)
		if err != nil {
			return
		}
		budget := NewBudget(100_000)
		found, err := e.Search(value, budget)
		if err != nil {
			return
		}
		encoded, err := AppendJSON(nil, found, 1<<20, budget)
		if err == nil && !json.Valid(encoded) {
			t.Fatalf("%s over %s: %s", text, data, encoded)
		}
	})
}
