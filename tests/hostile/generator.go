package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// A Generator makes documents from a seed.
type Generator struct {
	*rand.Rand
	// Known are values that mean something where the documents go, by the name of the
	// field, as JSON: a bucket that is there, an activity that somebody runs.
	Known map[string][]string

	odds float64 // of a hostile value, by node
}

// New is a generator with a seed.
func New(seed uint64) *Generator {
	return &Generator{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), Known: map[string][]string{}}
}

// Document makes one. About one in five has nothing wrong with its form.
func (g *Generator) Document(s *Schema) []byte {
	g.odds = []float64{0, 0.03, 0.1, 0.3}[g.IntN(4)]
	var out bytes.Buffer
	g.value(&out, "", s, 0)
	if g.IntN(8) == 0 {
		return g.spoil(out.Bytes())
	}
	return out.Bytes()
}

// value writes a value of a field: what the schema says, or a hostile one.
func (g *Generator) value(out *bytes.Buffer, name string, s *Schema, depth int) {
	if g.Float64() < g.odds {
		out.WriteString(g.anything())
		return
	}
	if known := g.Known[name]; len(known) > 0 {
		out.WriteString(pick(g, known))
		return
	}
	if len(s.Enum) > 0 {
		chosen, _ := json.Marshal(pick(g, s.Enum)) // what was read can be written
		out.Write(chosen)
		return
	}
	if len(s.Types) == 0 || depth > 8 {
		out.WriteString(pick(g, []string{`null`, `1`, `"text"`, `{"n":12345678901234567890123}`, `["a",{"$from":"args.x"}]`, `{"$literal":1}`}))
		return
	}
	switch pick(g, s.Types) {
	case "object":
		g.object(out, s, depth)
	case "array":
		g.list(out, name, s, depth)
	case "string":
		out.WriteString(strconv.Quote(pick(g, []string{"", "a", "b", "1s", "5m", "text", "eu-west-1", "0s", "10s"})))
	case "integer":
		out.WriteString(g.integer(s))
	case "number":
		out.WriteString(pick(g, []string{"0", "1", "0.5", "1e3", "100"}))
	case "boolean":
		out.WriteString(pick(g, []string{"true", "false"}))
	default:
		out.WriteString("null")
	}
}

func (g *Generator) object(out *bytes.Buffer, s *Schema, depth int) {
	var names []string
	chosen := ""
	if len(s.OneOf) > 0 {
		chosen = pick(g, s.OneOf)
	}
	for _, name := range s.names() {
		switch {
		case slices.Contains(s.Required, name), name == chosen:
			if g.Float64() >= g.odds/4 {
				names = append(names, name)
			}
		case slices.Contains(s.OneOf, name):
			if g.Float64() < g.odds {
				names = append(names, name)
			}
		case g.IntN(3) == 0:
			names = append(names, name)
		}
	}
	out.WriteByte('{')
	first := true
	member := func(name string, of *Schema) {
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteString(strconv.Quote(name) + ":")
		g.value(out, name, of, depth+1)
	}
	for _, name := range names {
		member(name, s.Properties[name])
		if g.Float64() < g.odds/10 {
			member(name, s.Properties[name]) // given twice
		}
	}
	if s.Members != nil {
		for n := range g.IntN(3) {
			member(string(rune('a'+n)), s.Members)
		}
	}
	if g.Float64() < g.odds/2 {
		if !first {
			out.WriteByte(',')
		}
		out.WriteString(pick(g, []string{`"colour":1`, `"Jobs":[]`, `"":0`, `"__proto__":{}`, `"a.b[0]":{}`, `"\u0000":1`, `"e\u0301":1`, `"` + string(bytes.Repeat([]byte("k"), 300)) + `":1`}))
	}
	out.WriteByte('}')
}

func (g *Generator) list(out *bytes.Buffer, name string, s *Schema, depth int) {
	out.WriteByte('[')
	items := s.Items
	if items == nil {
		items = &Schema{}
	}
	for n := range max(s.MinItems, g.IntN(4)) {
		if n > 0 {
			out.WriteByte(',')
		}
		g.value(out, name, items, depth+1)
	}
	out.WriteByte(']')
}

func (g *Generator) integer(s *Schema) string {
	low, high := 0.0, 1000.0
	if s.Minimum != nil {
		low = *s.Minimum
	}
	if s.Maximum != nil {
		high = *s.Maximum
	}
	if g.Float64() < g.odds { // beside its bounds
		return fmt.Sprintf("%.0f", pick(g, []float64{low - 1, high + 1, -high, high * 1e6}))
	}
	return fmt.Sprintf("%.0f", pick(g, []float64{low, high, low + float64(g.IntN(int(high-low)+1))}))
}

func pick[T any](g *Generator, from []T) T { return from[g.IntN(len(from))] }
