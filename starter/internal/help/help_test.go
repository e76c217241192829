package help

import (
	"bytes"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// line is a small command line with an example of its own.
type line struct {
	Global  string `group:"global" help:"Of every command."`
	Secret  string `hidden:"" help:"Nobody's business."`
	Request struct {
		Run struct {
			Wait bool `help:"Wait."`
		} `cmd:"" help:"Start."`
		Status struct {
			ID string `arg:"" help:"ID."`
		} `cmd:"" help:"Show."`
		Old struct{} `cmd:"" hidden:"" help:"Gone."`
	} `cmd:"" help:"Requests."`
}

func parser(t *testing.T, out *bytes.Buffer) *kong.Kong {
	t.Helper()
	p, err := kong.New(&line{}, kong.Name("starter"), kong.Help(Printer), kong.Writers(out, out), kong.Exit(func(int) {}),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.ExplicitGroups([]kong.Group{{Key: "global", Title: "Flags of every command:"}}))
	require.NoError(t, err)
	return p
}

// A command's help has its own flags first, then those of every command, and ends
// with an example; a group's has none.
func TestHelpEndsWithAnExample(t *testing.T) {
	var out bytes.Buffer
	_, _ = parser(t, &out).Parse([]string{"request", "run", "--help"})
	told := out.String()
	require.Contains(t, told, "\nExample:\n  starter "+Example("request run")+"\n")
	require.Less(t, bytes.Index(out.Bytes(), []byte("--wait")), bytes.Index(out.Bytes(), []byte("Flags of every command:")))
	out.Reset()
	_, _ = parser(t, &out).Parse([]string{"request", "--help"})
	require.NotContains(t, out.String(), "Example:")
}

func TestWordsFollowTheCommandThatWasChosen(t *testing.T) {
	app := parser(t, &bytes.Buffer{}).Model
	require.Equal(t, []string{"request", "--help", "--global"}, Words(app, nil))
	require.Equal(t, []string{"run", "status"}, Words(app, []string{"request"})[:2], "what is hidden is not offered")
	require.Equal(t, []string{"--wait", "--help", "--global"}, Words(app, []string{"request", "run"}))
	require.Equal(t, Words(app, nil), Words(app, []string{"nonsense"}))
}

func TestEachShellHasItsScript(t *testing.T) {
	for _, shell := range Shells {
		script, err := Script(shell)
		require.NoError(t, err)
		require.Contains(t, script, "starter completion words")
	}
	_, err := Script("csh")
	require.EqualError(t, err, `no completion for "csh"; there is one for bash, zsh, fish`)
}
