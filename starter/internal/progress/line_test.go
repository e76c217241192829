package progress

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPlainLineTellsAHindranceAtOnce(t *testing.T) {
	var out bytes.Buffer
	line := New(&out)
	line.Show(State{Done: 1, Total: 4, Words: "RUNNING"})
	line.Show(State{Done: 2, Total: 4, Words: "RUNNING"}) // too soon after the first
	line.Show(State{Done: 2, Total: 4, Words: "RUNNING", Hindrance: "no worker polls queue q"})
	line.Show(State{Done: 2, Total: 4, Words: "RUNNING", Hindrance: "no worker polls queue q"})
	line.Finish()
	require.Equal(t, "RUNNING 1/4\nRUNNING 2/4; no worker polls queue q\n", out.String())
}

func TestABarCarriesTheHindrance(t *testing.T) {
	var out bytes.Buffer
	line := &Line{w: &out, bar: newBar(&out)}
	long := "last error: " + strings.Repeat("no such table ", 10)
	line.Show(State{Done: 1, Total: 4, Words: "RUNNING", Hindrance: long})
	line.Finish()
	require.Contains(t, out.String(), long+"\n", "in full above the bar")
	require.Contains(t, out.String(), "RUNNING; "+clip(long))
}
