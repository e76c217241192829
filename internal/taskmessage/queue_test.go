package taskmessage_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/taskmessage"
)

func TestCheckQueueName(t *testing.T) {
	for _, good := range []string{"abc", "a-b", "0123", "tasks-1", strings.Repeat("q", 63)} {
		require.NoError(t, taskmessage.CheckQueueName(good), good)
	}
	for _, bad := range []string{"", "ab", strings.Repeat("q", 64), "Tasks", "-abc", "abc-", "a--b", "a_b", "a.b", "a b", "tâches"} {
		require.ErrorContains(t, taskmessage.CheckQueueName(bad), "no name of an Azure queue", bad)
	}
	require.NoError(t, taskmessage.CheckPoisonedBy(strings.Repeat("q", 56)))
	require.ErrorContains(t, taskmessage.CheckPoisonedBy(strings.Repeat("q", 57)), "64 characters")
}
