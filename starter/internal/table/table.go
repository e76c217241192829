// Package table writes JSON as rows for people.
package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// longest is how many characters a cell of a list has at most.
const longest = 60

// Write writes a list of objects with a column for each member, in the order in
// which the members come; what is missing or null is an empty cell. An object has a
// row for each member that says something, and its lists of objects follow, each
// under its name.
func Write(w io.Writer, document json.RawMessage) error {
	var rows []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(document, &rows) == nil:
		return writeList(w, rows)
	case json.Unmarshal(document, &object) == nil:
		return writeObject(w, members(document), object)
	default:
		return errors.New("neither a list nor an object")
	}
}

func writeObject(w io.Writer, names []string, object map[string]json.RawMessage) error {
	var lines [][]string
	var lists []string
	for _, name := range names {
		var rows []map[string]json.RawMessage
		switch value := object[name]; {
		case json.Unmarshal(value, &rows) == nil && len(rows) > 0:
			lists = append(lists, name)
		case empty(value):
		default:
			lines = append(lines, []string{strings.ToUpper(name), words(value)})
		}
	}
	if err := align(w, lines); err != nil {
		return err
	}
	for _, name := range lists {
		if _, err := fmt.Fprintf(w, "\n%s\n", strings.ToUpper(name)); err != nil {
			return err
		}
		if err := Write(w, object[name]); err != nil {
			return err
		}
	}
	return nil
}

// empty reports a value that says nothing.
func empty(value json.RawMessage) bool {
	switch string(value) {
	case `""`, "null", "[]", "{}":
		return true
	default:
		return false
	}
}

func writeList(w io.Writer, rows []json.RawMessage) error {
	var columns []string
	cells := make([]map[string]json.RawMessage, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row, &cells[i]); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		for _, name := range members(row) {
			if !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	lines := [][]string{{strings.ToUpper(strings.Join(columns, "\t"))}}
	for _, row := range cells {
		line := make([]string, len(columns))
		for i, name := range columns {
			line[i] = text(row[name])
		}
		lines = append(lines, line)
	}
	return align(w, lines)
}

// align writes lines of cells in columns.
func align(w io.Writer, lines [][]string) error {
	var aligned bytes.Buffer
	out := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintln(out, strings.Join(line, "\t"))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// members are the names of an object in the order in which they stand.
func members(row json.RawMessage) (names []string) {
	decoder := json.NewDecoder(bytes.NewReader(row))
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return names
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// text is a value as a cell of a list, which is cut.
func text(cell json.RawMessage) string {
	value := words(cell)
	if runes := []rune(value); len(runes) > longest {
		value = string(runes[:longest-1]) + "…"
	}
	return value
}

// words is a value in one line without a tab.
func words(cell json.RawMessage) string {
	value := string(cell)
	if value == "null" {
		return ""
	}
	var plain string
	if json.Unmarshal(cell, &plain) == nil {
		value = plain
	}
	return strings.Join(strings.Fields(value), " ")
}
