// Package jmespath reads and evaluates JMESPath expressions that strangers
// write, inside of a workflow task or once for each of millions of records.
//
// It is the language of the specification with three promises on top. Reading
// takes time in proportion to the text, of which there are at most MaxLength
// bytes nested at most MaxDepth deep. Evaluation counts its steps in a Budget and
// gives up when that is spent, so that neither time nor memory grow without
// bound. And the same expression over the same data gives the same value: nothing
// depends on the order of a map, and a number is never compared after it lost
// digits.
//
// Data is what encoding/json decodes with UseNumber. A number that is only passed
// on stays the text that it was.
//
//	Compile     text → Expression, or what is wrong with it
//	Expression  what it reads, and its value over data
//	Budget      what evaluation may still cost
//	AppendJSON  a value as JSON, within a budget and a length
package jmespath
