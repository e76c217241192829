package jmespath

import (
	"encoding/json"
	"strings"
	"testing"

	original "github.com/jmespath/go-jmespath"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// document holds lists of lists, objects, texts and numbers with few names, so
// that random expressions find something.
const document = `{"a":{"b":[{"c":1,"a":"x"},{"c":3,"a":"y"},{"c":2},{"b":[1,[2,3]]}],"c":"text","a":null},
	"b":[[1,2,3],[],["x","y"],[{"a":1},{"a":2}]],"c":[3,1,2],"d":["q","p",""],"e":{"a":true,"b":false,"c":0}}`

// TestValuesAreThoseOfTheOriginal: where the original implementation in Go
// finds a value, so do we, and the same one. keys() and its like are left out,
// whose order is random there.
func TestValuesAreThoseOfTheOriginal(t *testing.T) {
	var data, theirs any
	require.NoError(t, json.Unmarshal([]byte(document), &theirs))
	decoder := json.NewDecoder(strings.NewReader(document))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&data))
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		text := expressions(4).Draw(t, "expression")
		want, wantErr := originalSearch(text, theirs)
		got, err := searchText(text, data)
		if wantErr != nil || err != nil && strings.Contains(text, "(") && strings.Contains(text, "[") {
			return // ours may say so earlier, and does not drop the error of what it projects
		}
		found++
		require.NoError(t, err, text)
		requireSame(t, want, got, text)
	})
	require.Positive(t, found)
	var unchanged any
	require.NoError(t, json.Unmarshal([]byte(document), &unchanged))
	requireSame(t, unchanged, data, "the data after all searches")
}

// originalSearch searches a copy, which the original may sort.
func originalSearch(text string, data any) (value any, err error) {
	defer func() {
		if recover() != nil {
			err = ErrTooCostly // any error will do
		}
	}()
	copied, _ := json.Marshal(data)
	_ = json.Unmarshal(copied, &data)
	return original.Search(text, data)
}

// expressions generates expressions nested so many levels deep.
func expressions(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "@", `"a"`, "'x'", "`1`", "`[1,\"x\"]`", "[0]", "[-1]", "[1:]", "[::-1]", "[:2:2]"})
	if depth == 0 {
		return leaf
	}
	return rapid.Custom(func(t *rapid.T) string {
		inner := func() string { return expressions(depth-1).Draw(t, "inner") }
		form := rapid.SampledFrom([]string{"leaf", "L.F", "L[*]", "L[*].F", "L[]", "L[?R]", "L[?R].F", "L | R", "L || R", "L && R", "!L", "(L)",
			"L == R", "L != R", "L < R", "L >= R", "[L, R]", "{k: L, l: R}", "L.[F, c]", "L.{k: F}", "L[*].[F, c]", "L[0]", "L[1:]", "L[::-1].F",
			"length(L)", "contains(L, R)", "sort(L)", "sort_by(L, &F)", "max(L)", "min_by(L, &F)", "map(&F, L)", "reverse(L)", "to_array(L)",
			"to_string(L)", "to_number(L)", "type(L)", "not_null(L, R)", "join('-', L)", "sum(L)", "abs(L)", "floor(L)", "merge(L, R)",
			"starts_with(L, R)", "ends_with(L, 't')"}).Draw(t, "form")
		if form == "leaf" {
			return leaf.Draw(t, "leaf")
		}
		return strings.NewReplacer("L", inner(), "R", inner(), "F", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "field")).Replace(form)
	})
}
