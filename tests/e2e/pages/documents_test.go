package pages_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"sluice/tests/harness"
)

// A document that a page shows is one by the schema that it names, or says why no schema
// is for it.
func TestDocumentsOfThePagesAreOnesByTheirSchemas(t *testing.T) {
	checked := 0
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.language != "json" && b.language != "yaml" || b.notInput != "" {
				continue
			}
			if b.schema == "" {
				t.Errorf("%s:%d: say by a comment before the document which schema it is of", page, b.line)
				continue
			}
			compiled, err := jsonschema.NewCompiler().Compile(filepath.Join(harness.Root(), "docs/schema", b.schema+".json"))
			require.NoError(t, err)
			var value any
			require.NoErrorf(t, yaml.Unmarshal([]byte(b.text), &value), "%s:%d", page, b.line)
			raw, err := json.Marshal(value)
			require.NoError(t, err)
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			require.NoError(t, err)
			require.NoErrorf(t, compiled.Validate(document), "%s:%d", page, b.line)
			checked++
		}
	}
	require.NotZero(t, checked)
}
