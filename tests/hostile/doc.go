// Package hostile makes documents that somebody might send by mistake or on purpose:
// each field of a JSON Schema valid, of another type, at its extremes, huge, nested
// deep, unknown, given twice, no UTF-8, no number. The same seed makes the same
// documents.
package hostile
