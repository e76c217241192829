package equivalent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/starter/internal/shell"
)

// What is printed is pasted into a shell: words with spaces, quotes and braces stay
// one word, and what is not given has no flag.
func TestCommandsCanBePasted(t *testing.T) {
	for want, command := range map[string][]string{
		`temporal workflow start --type Request --task-queue q --workflow-id request/1 --static-summary 'report: 2 jobs' --input '{"args":{"who":"it'\''s me"}}'`: Start{Type: "Request", ID: "request/1", TaskQueue: "q", Summary: "report: 2 jobs", Input: json.RawMessage(`{"args":{"who":"it's me"}}`)}.Command(),
		`temporal workflow start --type Request --task-queue q --workflow-id r`:                                                                                   Start{Type: "Request", ID: "r", TaskQueue: "q"}.Command(),
		`temporal workflow update execute --workflow-id r --name suspend --input '{}'`:                                                                            Update("r", "suspend", json.RawMessage(`{}`)),
		`temporal workflow signal --workflow-id 'a b' --name stop`:                                                                                                Signal("a b", "stop", nil),
		`temporal workflow query --workflow-id r --type status --input '{"limit":5}' --input 7`:                                                                   Query("r", "status", []any{map[string]int{"limit": 5}, 7}),
		`temporal workflow query --workflow-id r --type export`:                                                                                                   Query("r", "export", nil),
	} {
		require.Equal(t, want, shell.Line(command))
	}
}
