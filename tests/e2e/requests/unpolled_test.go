package requests_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A command that asks a request whose queue has no worker says so and ends: the
// server would keep it waiting.
func TestCommandsTellThatNoWorkerAnswers(t *testing.T) {
	t.Parallel()
	p := newPrograms(t)
	file := p.document(t, `{"type":"k","jobs":[{"id":"a","activity":"Test.Job","taskQueue":"QUEUE"}]}`)
	id := "request/" + p.Name("unanswered")
	p.Starter("request", "run", "-f", file, "--id", id).OK(t)
	for _, command := range [][]string{{"suspend", id, "--reason", "why"}, {"claim", id, "--holder", "me"}} {
		told := p.Starter(append([]string{"request"}, command...)...).Exits(t, 1)
		require.Contains(t, told.Stderr, "no worker polls queue "+p.TaskQueue)
		require.Contains(t, told.Stderr, id)
	}
}
