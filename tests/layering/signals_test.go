package layering_test

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The one place where signals are received, and the one where updates and queries are
// set up.
const (
	inboxFile    = "workflows/internal/shell/inbox.go"
	messagesFile = "workflows/internal/shell/messages.go"
)

// TestSignalsAreReceivedByTheInboxAlone: a signal that a selector or a blocked
// coroutine has received is lost when the run ends before that coroutine goes on.
func TestSignalsAreReceivedByTheInboxAlone(t *testing.T) {
	onlyIn(t, inboxFile, "receives signals", (*signalChecker).receives)
}

// TestUpdatesAndQueriesAreSetUpByTheShellAlone: there their inputs are decoded
// strictly, and errors name the message and the workflow.
func TestUpdatesAndQueriesAreSetUpByTheShellAlone(t *testing.T) {
	onlyIn(t, messagesFile, "sets up updates or queries", (*signalChecker).answers)
}

// onlyIn finds what is done in any other file.
func onlyIn(t *testing.T, place, what string, find func(*signalChecker, *testing.T, string, []*ast.File) []token.Position) {
	c := newSignalChecker(t)
	file, err := filepath.Abs(filepath.Join("../..", place))
	require.NoError(t, err)
	seen := false
	for _, p := range c.packages {
		if p.Standard || !under(p.ImportPath, "sluice") || !slices.ContainsFunc(p.Imports, knowsWorkflows) {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, file)
		}
		for _, found := range find(c, t, p.ImportPath, files) {
			if found.Filename == file {
				seen = true
				continue
			}
			t.Errorf("%s %s; that is for %s", found, what, place)
		}
	}
	require.True(t, seen, "%s does not: is it still the one place that %s?", place, what)
}

// TestSignalReceptionIsFound guards the net itself.
func TestSignalReceptionIsFound(t *testing.T) {
	c := newSignalChecker(t)
	for _, caught := range []struct{ name, imported, body string }{
		{"channel", `"go.temporal.io/sdk/workflow"`, `workflow.GetSignalChannel(ctx, "stop")`},
		{"channel under another name", `w "go.temporal.io/sdk/workflow"`, `get := w.GetSignalChannel; _ = get`},
		{"channel with options", `"go.temporal.io/sdk/workflow"`, `workflow.GetSignalChannelWithOptions(ctx, "stop", workflow.SignalChannelOptions{})`},
		{"receive", `"go.temporal.io/sdk/workflow"`, `var c workflow.ReceiveChannel; c.Receive(ctx, nil)`},
		{"receive without waiting", `"go.temporal.io/sdk/workflow"`, `var c workflow.ReceiveChannel; c.ReceiveAsync(nil)`},
		{"selector", `"go.temporal.io/sdk/workflow"`, `workflow.NewSelector(ctx).AddReceive(nil, nil)`},
	} {
		t.Run(caught.name, func(t *testing.T) {
			require.NotEmpty(t, c.receives(t, "sample", []*ast.File{c.sample(t, caught.imported, caught.body)}))
		})
	}
	for _, body := range []string{
		`workflow.SetUpdateHandler(ctx, "stop", nil)`, `set := workflow.SetQueryHandlerWithOptions; _ = set`,
	} {
		require.NotEmpty(t, c.answers(t, "sample", []*ast.File{c.sample(t, `"go.temporal.io/sdk/workflow"`, body)}), body)
	}
	t.Run("what is no signal", func(t *testing.T) {
		file := c.sample(t, `"go.temporal.io/sdk/workflow"`, `ctx.Done().Receive(ctx, nil); workflow.NewSelector(ctx).AddDefault(nil)`)
		require.Empty(t, c.receives(t, "sample", []*ast.File{file}))
	})
}

func knowsWorkflows(path string) bool { return path == "go.temporal.io/sdk/workflow" }

// signalChecker finds where signals are received, by types, so that no alias or
// method value hides it.
type signalChecker struct {
	files    *token.FileSet
	packages []compiled
	importer types.Importer
}

type compiled struct {
	ImportPath, Dir, Export string
	Standard                bool
	GoFiles, Imports        []string
}

func newSignalChecker(t *testing.T) *signalChecker {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,Standard,GoFiles,Imports", "sluice/...").Output()
	require.NoError(t, err)
	c := &signalChecker{files: token.NewFileSet()}
	exports := map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p compiled
		require.NoError(t, decoder.Decode(&p))
		c.packages = append(c.packages, p)
		exports[p.ImportPath] = p.Export
	}
	c.importer = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

func (c *signalChecker) sample(t *testing.T, imported, body string) *ast.File {
	name, _, aliased := strings.Cut(imported, " ")
	if !aliased {
		name = "workflow"
	}
	source := "package sample\nimport " + imported + "\nfunc f(ctx " + name + ".Context) { " + body + " }\n"
	file, err := parser.ParseFile(c.files, "sample.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}

// answers lists the places of a package that set up updates or queries. Workflows that
// tests bring along are as anybody's own.
func (c *signalChecker) answers(t *testing.T, path string, files []*ast.File) []token.Position {
	if under(path, "sluice/tests") {
		return nil
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	_, err := (&types.Config{Importer: c.importer}).Check(path, c.files, files, info)
	require.NoError(t, err)
	var found []token.Position
	for name, used := range info.Uses {
		setter := strings.HasPrefix(used.Name(), "SetUpdateHandler") || strings.HasPrefix(used.Name(), "SetQueryHandler")
		if fromSDK(used) && setter {
			found = append(found, c.files.Position(name.Pos()))
		}
	}
	return found
}

// receives lists the places of a package that get a channel of signals, receive
// from one, or have a selector receive.
func (c *signalChecker) receives(t *testing.T, path string, files []*ast.File) []token.Position {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	_, err := (&types.Config{Importer: c.importer}).Check(path, c.files, files, info)
	require.NoError(t, err)
	var found []token.Position
	for name, used := range info.Uses {
		if fromSDK(used) && strings.HasPrefix(used.Name(), "GetSignalChannel") {
			found = append(found, c.files.Position(name.Pos()))
		}
	}
	for at, selection := range info.Selections {
		method := selection.Obj()
		onSignals := strings.HasPrefix(method.Name(), "Receive") && isReceiveChannel(selection.Recv())
		if fromSDK(method) && (onSignals || method.Name() == "AddReceive") {
			found = append(found, c.files.Position(at.Sel.Pos()))
		}
	}
	return found
}

func fromSDK(o types.Object) bool {
	return o.Pkg() != nil && under(o.Pkg().Path(), "go.temporal.io/sdk")
}

// isReceiveChannel tells the SDK's type of a channel of signals from that of a
// context's Done, which can also be sent to.
func isReceiveChannel(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "ReceiveChannel"
}
