package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStarterRefusesWhatTemporalWould, with the name of the flag.
func TestStarterRefusesWhatTemporalWould(t *testing.T) {
	a := testApp("")
	a.cli.TaskQueue = "/_sys/foo"
	_, err := a.temporal()
	require.Equal(t, usage("--task-queue: begins with /_sys/; such task queues are Temporal's own"), err)
	_, err = a.start(launch{id: strings.Repeat("€", 334)})
	require.Equal(t, usage("--id: 1002 bytes; at most 1000"), err)
}
