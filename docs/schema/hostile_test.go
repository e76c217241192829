package schema

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"sluice/internal/document"
	"sluice/tests/hostile"
)

// Every input document, each field with values of every kind: it is read or refused
// without a panic and in time, what its schema refuses is refused, and the refusal
// names the path of everything that is wrong.
func TestHostileDocumentsAreReadOrRefusedByThePath(t *testing.T) {
	seed, rounds := uint64(time.Now().UnixNano()), 150
	if given, err := strconv.ParseUint(os.Getenv("SLUICE_SEED"), 10, 64); err == nil {
		seed = given
	}
	if n, err := strconv.Atoi(os.Getenv("SLUICE_HOSTILE")); err == nil {
		rounds = n
	}
	t.Logf("SLUICE_SEED=%d", seed)
	g := hostile.New(seed)
	refused, taken := 0, 0
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		raw, ok := Of(name)
		require.True(t, ok, name)
		shape, err := hostile.Parse(raw)
		require.NoError(t, err)
		schema := compile(t, name)
		for range rounds {
			doc := g.Document(shape)
			began := time.Now()
			checked, err := readAs(name, doc)
			require.Lessf(t, time.Since(began), 2*time.Second, "%s: %.300s", name, doc)
			if err != nil {
				refused++
				require.Truef(t, utf8.ValidString(err.Error()), "%s: %.300q", name, err.Error())
			} else {
				taken++
			}
			if checked {
				judge(t, name, schema, doc, err)
			}
		}
	}
	t.Logf("%d refused, %d taken", refused, taken)
	require.Positive(t, refused)
	require.Positive(t, taken)
}

// judge holds what a workflow says of its input to what the schema says.
func judge(t *testing.T, name string, schema *jsonschema.Schema, doc []byte, err error) {
	t.Helper()
	wrong, unreadable := hostile.Wrong(schema, doc)
	if err == nil {
		require.Falsef(t, unreadable || len(wrong) > 0, "%s takes what its schema refuses, at %q: %.600s", name, wrong, doc)
		return
	}
	for _, path := range wrong {
		require.Truef(t, hostile.Names(err.Error(), path), "%s: the refusal does not name %q: %.600s\nof %.600s", name, path, err, doc)
	}
}

// readAs has a document read, as its workflow does where it is an input: then what its
// values mean is checked too. What messages and inputs of activities mean is checked by
// who gets them.
func readAs(name string, doc []byte) (checked bool, err error) {
	for _, c := range checks {
		if c.schema == name {
			return true, c.check("id", json.RawMessage(doc))
		}
	}
	return false, document.Decode(doc, reflect.New(reflect.TypeOf(inputs[name])).Interface()).Err()
}
