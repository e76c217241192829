package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the schemas")

func documents() (all []named) {
	for name, value := range inputs {
		all = append(all, named{name, reflect.TypeOf(value), true})
	}
	for name, value := range outputs {
		all = append(all, named{name, reflect.TypeOf(value), false})
	}
	return all
}

// The schemas that are in the tree say what the code decodes and answers; `make
// schema` writes them anew.
func TestSchemasAreUpToDate(t *testing.T) {
	words := comments{}
	var names []string
	for _, d := range documents() {
		require.NoError(t, words.readAll(d.value, map[reflect.Type]bool{}))
		raw, err := generate(d, words)
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile(d.name+".json", raw, 0o644))
		}
		written, err := os.ReadFile(d.name + ".json")
		require.NoError(t, err, "run: make schema")
		require.Equal(t, string(raw), string(written), "run: make schema")
		names = append(names, d.name)
	}
	slices.Sort(names)
	if !*update {
		require.Equal(t, names, Names())
	}
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	raw, ok := Of(name)
	require.True(t, ok, name)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource(name, document))
	schema, err := c.Compile(name)
	require.NoError(t, err)
	return schema
}

func TestEverySchemaCompilesAndTakesAnEmptyOutput(t *testing.T) {
	for _, d := range documents() {
		schema := compile(t, d.name)
		if d.input {
			continue
		}
		raw, err := json.Marshal(reflect.New(d.value).Interface())
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		require.NoError(t, err)
		require.NoErrorf(t, schema.Validate(value), "%s: %s", d.name, raw)
	}
}

func TestOfAnUnknownDocument(t *testing.T) {
	_, ok := Of("colour")
	require.False(t, ok)
}
