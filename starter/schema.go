package main

import (
	"encoding/json"
	"strings"

	"sluice/docs/schema"
)

// schemaCmd prints JSON Schemas, for editors and for other programs that check.
type schemaCmd struct {
	Document string `arg:"" optional:"" help:"The document, such as request or quiescence.tune; by default their names are listed."`
}

func (s schemaCmd) Run(a *app) error {
	if s.Document == "" {
		return a.result(schema.Names())
	}
	raw, ok := schema.Of(s.Document)
	if !ok {
		return usage("no document %q; there are %s", s.Document, strings.Join(schema.Names(), ", "))
	}
	return a.result(json.RawMessage(raw))
}
