package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Wrong are the paths at which a document differs from a schema, as refusals spell
// them, or why it can't be read. A document that fits has none.
func Wrong(schema *jsonschema.Schema, doc []byte) (paths []string, unreadable bool) {
	if len(bytes.TrimSpace(doc)) == 0 {
		doc = []byte("{}") // as good as nothing given
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, true
	}
	if value == nil {
		value = map[string]any{}
	}
	var invalid *jsonschema.ValidationError
	if errors.As(schema.Validate(value), &invalid) {
		paths = leaves(invalid)
	}
	return paths, false
}

// uncounted is the end of a refusal that tells some of very many faults.
var uncounted = regexp.MustCompile(`; and \d+ more`)

// Names reports whether a refusal names a path, or tells that it leaves some out. Of a
// field that is given twice it does not tell what is wrong with the second.
func Names(refusal, path string) bool {
	return strings.Contains(refusal, strings.TrimSuffix(path, ".")) || strings.Contains(refusal, "given twice") || uncounted.MatchString(refusal)
}

func leaves(e *jsonschema.ValidationError) (paths []string) {
	at := path(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		if len(e.InstanceLocation) == 0 {
			return k.Missing
		}
		return []string{at}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			paths = append(paths, strings.TrimPrefix(at+"."+name, "."))
		}
		return paths
	case *kind.OneOf:
		return nil // a member that is null is none of the choice, which a schema can't say
	}
	if len(e.Causes) == 0 {
		return []string{at}
	}
	for _, cause := range e.Causes {
		paths = append(paths, leaves(cause)...)
	}
	return paths
}

func path(location []string) string {
	var b strings.Builder
	for _, name := range location {
		switch _, err := strconv.Atoi(name); {
		case err == nil:
			fmt.Fprintf(&b, "[%s]", name)
		case b.Len() > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}
