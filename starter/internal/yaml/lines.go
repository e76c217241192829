package yaml

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"sluice/internal/document"
)

// Lines says on which line of a document, YAML or JSON, each of its paths begins.
type Lines map[string]int

// LinesOf reads the document; one that can't be read has none.
func LinesOf(raw []byte) Lines {
	lines := Lines{}
	var root yaml.Node
	if yaml.Unmarshal(raw, &root) == nil && len(root.Content) > 0 {
		lines.add("", root.Content[0])
	}
	return lines
}

func (l Lines) add(path string, node *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			below := document.Join(path, node.Content[i].Value)
			l[below] = node.Content[i].Line
			l.add(below, node.Content[i+1])
		}
	case yaml.SequenceNode:
		for i, element := range node.Content {
			below := document.Index(path, i)
			l[below] = element.Line
			l.add(below, element)
		}
	}
}

// Of is the line of a path, or of what is nearest above it; 0 where there is none.
func (l Lines) Of(path string) int {
	for ; path != ""; path = document.Parent(path) {
		if line, ok := l[path]; ok {
			return line
		}
	}
	return 0
}

// Tell is faults in words, each with the line on which it is behind them.
func (l Lines) Tell(faults document.Faults) []string {
	told := make([]string, len(faults))
	for i, f := range faults {
		told[i] = f.String()
		if line := l.Of(f.Path); line > 0 {
			told[i] = fmt.Sprintf("%s (line %d)", f, line)
		}
	}
	return told
}
