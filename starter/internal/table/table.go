// Package table writes a list of JSON objects as rows for people.
package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// longest is how many characters a cell has at most.
const longest = 60

// Write writes the list with a column for each member, in the order in which the
// members come. What is missing or null is an empty cell.
func Write(w io.Writer, list json.RawMessage) error {
	var rows []json.RawMessage
	if err := json.Unmarshal(list, &rows); err != nil {
		return fmt.Errorf("not a list: %w", err)
	}
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
	var aligned bytes.Buffer
	out := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.ToUpper(strings.Join(columns, "\t")))
	for _, row := range cells {
		line := make([]string, len(columns))
		for i, name := range columns {
			line[i] = text(row[name])
		}
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

func text(cell json.RawMessage) string {
	words := string(cell)
	if words == "null" {
		return ""
	}
	var plain string
	if json.Unmarshal(cell, &plain) == nil {
		words = plain
	}
	words = strings.Join(strings.Fields(words), " ") // one line, no tab
	if runes := []rune(words); len(runes) > longest {
		words = string(runes[:longest-1]) + "…"
	}
	return words
}
