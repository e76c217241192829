// Package workflows is what outsiders need to know of Sluice's workflows: their
// types, messages and queries (names.go), their IDs (ids.go) and the search
// attributes (visibility.go). Each workflow has a package below this one, with its
// input, its messages and its views; package sluice registers them all.
//
// A workflow decodes its input and its messages strictly itself, since Temporal's
// own decoding would lose the reason of a refusal; it keeps its rules in a package
// of internal/ that knows neither Temporal nor a clock; it knows activities by name,
// input and output only (internal/wire); and it states in its doc comment which
// messages it takes and how many history events a unit of its work costs.
package workflows
