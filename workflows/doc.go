// Package workflows holds Sluice's workflows, a file for each, and the public
// vocabulary: workflow, update, signal and query names (names.go), workflow IDs
// (ids.go), search attributes and what the Web UI shows (visibility.go).
//
// A workflow here decodes its input and its messages strictly itself (raw.go),
// since Temporal's own decoding would lose the reason of a refusal; it keeps its
// rules in a package of internal/ that knows neither Temporal nor a clock; and it
// states in its doc comment which messages it takes and how many history events
// a unit of its work costs.
package workflows
