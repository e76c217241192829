package layering_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A package beyond these is several; what all share has to be less still.
const (
	mostFiles = 25
	mostLines = 4500
)

var mostFilesOf = map[string]int{"activities": 15, "workflows": 12}

// TestPackagesAreRooms holds the size of each package, tests left out.
func TestPackagesAreRooms(t *testing.T) {
	files, lines := map[string]int{}, map[string]int{}
	for _, name := range sources(t) {
		raw, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted, not committed yet
		}
		require.NoError(t, err)
		folder, err := filepath.Rel("../..", filepath.Dir(name))
		require.NoError(t, err)
		files[folder]++
		lines[folder] += strings.Count(string(raw), "\n")
	}
	for folder, n := range files {
		most, ok := mostFilesOf[folder]
		if !ok {
			most = mostFiles
		}
		if n > most {
			t.Errorf("%s has %d files, more than %d", folder, n, most)
		}
		if lines[folder] > mostLines {
			t.Errorf("%s has %d lines, more than %d", folder, lines[folder], mostLines)
		}
	}
}

// TestWorkflowsCompileNoCloud: workflows know activities by reference only, so
// that no client of a cloud is in their code, not even by way of others.
func TestWorkflowsCompileNoCloud(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "sluice/workflows/...", "sluice/activities").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "go.temporal.io/sdk/workflow")
	for _, path := range strings.Fields(string(out)) {
		require.Falsef(t, under(path, "github.com/aws") || under(path, "github.com/Azure"), "compiles %s", path)
	}
}

// TestRoomsKnowOnlyWhatIsBelow: what a floor shares knows none of its rooms, no
// room of a workflow knows another's, and only the root package knows them all.
func TestRoomsKnowOnlyWhatIsBelow(t *testing.T) {
	for _, p := range list(t) {
		for _, imported := range p.Imports {
			workflowRoom := under(imported, "sluice/workflows") && imported != "sluice/workflows" && imported != "sluice/workflows/internal/shell"
			activityRoom := under(imported, "sluice/activities") && imported != "sluice/activities"
			if under(p.ImportPath, "sluice/workflows") {
				require.Falsef(t, workflowRoom || activityRoom, "%s imports %s", p.ImportPath, imported)
			}
			if p.ImportPath == "sluice/activities" {
				require.Falsef(t, activityRoom, "%s imports %s", p.ImportPath, imported)
			}
			if imported == "sluice" {
				require.Falsef(t, below(p.ImportPath), "%s imports the root package", p.ImportPath)
			}
		}
	}
}

func below(path string) bool {
	return under(path, "sluice/workflows") || under(path, "sluice/activities") || under(path, "sluice/internal")
}

// TestNothingIsGated: nothing is released, so there are no histories of other code.
func TestNothingIsGated(t *testing.T) {
	eachLine(t, sources(t), func(file string, n int, line string) {
		if strings.Contains(line, "GetVersion(") {
			t.Errorf("%s:%d: %s", file, n, strings.TrimSpace(line))
		}
	})
}

// TestNamesAreSpeltOnce looks for the names of the ground floor elsewhere: types
// of workflows and errors, activities and search attributes as any string, the
// one-word names of messages where they are sent, asked or handled.
func TestNamesAreSpeltOnce(t *testing.T) {
	names, messages := spelt(t)
	require.Greater(t, len(names), 40)
	require.Greater(t, len(messages), 15)
	for _, name := range sources(t) {
		folder, err := filepath.Rel("../..", filepath.Dir(name))
		require.NoError(t, err)
		inModule := strings.HasPrefix(folder, "activities") || strings.HasPrefix(folder, "workflows") || strings.HasPrefix(folder, "internal") ||
			folder == "worker" || folder == "starter" || folder == "."
		if !inModule || folder == "internal/wire" || folder == "internal/errortype" {
			continue
		}
		for _, found := range literals(t, name) {
			if names[found.text] && !otherwise[folder+" "+found.text] || found.isMessage && messages[found.text] {
				t.Errorf("%s:%d: %q is spelt on the ground floor", name, found.line, found.text)
			}
		}
	}
}

// otherwise lists words of others that are the same as ours by chance: error codes
// of services.
var otherwise = map[string]bool{
	"activities/awscall NotFound": true, "activities/awscall AccessDenied": true,
	"internal/throughput Throttled": true, "internal/throughput AccessDenied": true,
}

// spelt reads the names of the ground floor.
func spelt(t *testing.T) (names, messages map[string]bool) {
	names, messages = map[string]bool{}, map[string]bool{}
	for _, name := range sources(t) {
		if !strings.Contains(name, "internal/wire/") && !strings.Contains(name, "internal/errortype/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 {
				return true
			}
			text, ok := textIn(spec.Values[0])
			switch id := spec.Names[0].Name; {
			case !ok:
			case strings.HasPrefix(id, "Update"), strings.HasPrefix(id, "Query"), strings.HasPrefix(id, "Signal"):
				messages[text] = true
			case strings.HasPrefix(id, "Type"), strings.HasPrefix(id, "Attribute"), strings.Contains(name, "errortype"), strings.Contains(text, "."):
				names[text] = true
			}
			return true
		})
	}
	return names, messages
}

// textIn is the string that an expression is, or that the literal of an activity
// holds.
func textIn(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.CompositeLit:
		if len(e.Elts) == 1 {
			if field, ok := e.Elts[0].(*ast.KeyValueExpr); ok {
				return textIn(field.Value)
			}
		}
	}
	return "", false
}

type literal struct {
	text      string
	line      int
	isMessage bool // where the name of a message stands
}

// literals lists the strings of a file.
func literals(t *testing.T, name string) (all []literal) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	sends := map[string]bool{"SetUpdateHandler": true, "SetUpdateHandlerWithOptions": true, "SetQueryHandler": true, "GetSignalChannel": true,
		"SignalWorkflow": true, "SignalExternalWorkflow": true, "SignalChildWorkflow": true, "QueryWorkflow": true}
	at := map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && sends[f.Sel.Name] {
				for _, argument := range n.Args {
					at[argument] = true
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "UpdateName" {
				at[n.Value] = true
			}
		case *ast.BasicLit:
			if text, ok := textIn(n); ok {
				all = append(all, literal{text, files.Position(n.Pos()).Line, at[n]})
			}
		}
		return true
	})
	return all
}

// TestCallsOfActivitiesAreTyped tries, in a workflow, calls that must not compile:
// one of another input, one whose answer is read into something else.
func TestCallsOfActivitiesAreTyped(t *testing.T) {
	const call = `package shell

import (
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

func try(ctx workflow.Context) error {
	var out %s
	return Execute(ctx, wire.CountEvents, %s{}).Get(ctx, &out)
}
`
	folder, err := filepath.Abs("../../workflows/internal/shell")
	require.NoError(t, err)
	for _, c := range []struct{ out, in, fault string }{
		{"wire.CountReport", "wire.CountInput", ""},
		{"wire.CountReport", "wire.TaskRef", "TaskRef"},
		{"wire.PollReport", "wire.CountInput", "PollReport"},
	} {
		written := filepath.Join(t.TempDir(), "try.go")
		require.NoError(t, os.WriteFile(written, fmt.Appendf(nil, call, c.out, c.in), 0o600))
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(folder, "try.go"): written}})
		require.NoError(t, err)
		replaced := filepath.Join(t.TempDir(), "overlay.json")
		require.NoError(t, os.WriteFile(replaced, overlay, 0o600))
		out, err := exec.Command("go", "build", "-overlay", replaced, "sluice/workflows/internal/shell").CombinedOutput()
		if c.fault == "" {
			require.NoError(t, err, string(out))
			continue
		}
		require.Error(t, err, "%s compiles", c.in)
		require.Contains(t, string(out), c.fault)
	}
}
