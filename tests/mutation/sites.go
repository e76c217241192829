package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// A site is a place in the code and what is changed there: bytes from to to of a file
// become with.
type site struct {
	file, function, kind string
	line                 int
	from, to             int
	with                 string
	nth                  int // of its kind in its function, so that its name outlives changes elsewhere
}

func (s site) String() string { return fmt.Sprintf("%s:%s:%s#%d", s.file, s.function, s.kind, s.nth) }

// sitesOf lists what can be changed in the Go files below the directories.
func sitesOf(root string, dirs []string) (all []site, err error) {
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			found, err := sitesIn(root, path)
			all = append(all, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func sitesIn(root, path string) ([]site, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	f := &finder{file: name, source: source, set: token.NewFileSet(), counts: map[string]int{}}
	parsed, err := parser.ParseFile(f.set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, declaration := range parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			f.function = d.Name.Name
			if d.Recv != nil && len(d.Recv.List) > 0 {
				f.function = f.text(d.Recv.List[0].Type) + "." + f.function
			}
			ast.Inspect(d, f.look)
		case *ast.GenDecl:
			if d.Tok == token.CONST || d.Tok == token.VAR {
				f.function = strings.ToLower(d.Tok.String())
				ast.Inspect(d, f.look)
			}
		}
	}
	return f.found, nil
}

// finder collects the sites of a file.
type finder struct {
	file, function string
	source         []byte
	set            *token.FileSet
	counts         map[string]int
	found          []site
}

func (f *finder) text(n ast.Node) string {
	return string(f.source[f.at(n.Pos()):f.at(n.End())])
}

func (f *finder) at(p token.Pos) int { return f.set.Position(p).Offset }

func (f *finder) add(kind string, from, to token.Pos, with string) {
	name := f.function + kind
	f.counts[name]++
	f.found = append(f.found, site{
		file: f.file, function: f.function, kind: kind, line: f.set.Position(from).Line, from: f.at(from), to: f.at(to), with: with, nth: f.counts[name],
	})
}

// opposite is what an operator becomes.
var opposite = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.GEQ: "<", token.GTR: "<=", token.LEQ: ">", token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

// look notes what can be changed at a node, and goes on below it.
func (f *finder) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add("negation dropped", n.OpPos, n.OpPos+1, "")
		}
	case *ast.IfStmt:
		if len(n.Body.List) > 0 && f.text(n.Cond) != "err != nil" { // many guard what never happens
			f.add("branch dropped", n.Cond.Pos(), n.Cond.End(), "false && ("+f.text(n.Cond)+")")
		}
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !aside(f.text(call.Fun)) {
			f.add("call dropped", n.Pos(), n.End(), "")
		}
	case *ast.AssignStmt:
		if n.Tok == token.ASSIGN && len(n.Lhs) == 1 && f.text(n.Lhs[0]) != "_" {
			f.add("assignment dropped", n.Pos(), n.End(), "_ = "+f.text(n.Rhs[0]))
		}
	case *ast.BasicLit:
		if n.Kind == token.INT && n.Value != "0" {
			f.add("constant changed", n.Pos(), n.End(), "("+n.Value+" + 1)")
		}
	case *ast.CallExpr:
		return !aside(f.text(n.Fun))
	}
	return true
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if with, ok := opposite[n.Op]; ok && !strings.ContainsAny(f.text(n.X)+f.text(n.Y), "\"`") {
		kind := "comparison flipped"
		switch n.Op {
		case token.LAND, token.LOR:
			kind = "and for or"
		case token.ADD, token.SUB:
			kind = "plus for minus"
		}
		f.add(kind, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), with)
	}
	if y := f.text(n.Y); n.Op == token.MUL && strings.HasPrefix(y, "time.") {
		f.add("duration halved", n.Pos(), n.End(), "("+f.text(n)+" / 2)")
	}
}

// aside is what only tells: logs, metrics, what people read.
func aside(function string) bool {
	for _, part := range []string{"Logger", "log.", "Metrics", "SetCurrentDetails", "Sprintf", "Fprintf", "WriteString"} {
		if strings.Contains(function, part) {
			return true
		}
	}
	return false
}
