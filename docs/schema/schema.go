// Package schema holds the JSON Schemas (2020-12) of all documents that go in and
// out: inputs, messages, status documents, results, answers. `make schema` writes
// them from the types that decode the documents; a test holds them to these.
package schema

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.json
var files embed.FS

// Names are the documents, in the order of the alphabet.
func Names() []string {
	found, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil // the pattern is well formed
	}
	for i, name := range found {
		found[i] = strings.TrimSuffix(name, ".json")
	}
	slices.Sort(found)
	return found
}

// Of is the schema of a document.
func Of(name string) (raw []byte, ok bool) {
	raw, err := files.ReadFile(name + ".json")
	return raw, err == nil
}
