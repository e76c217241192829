package dynamodb

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/internal/wire"
)

// A table that was just made is waited for; one that is not there at all is not.
func TestATableIsAwaitedUntilItIsActive(t *testing.T) {
	for name, c := range map[string]struct {
		reply   reply
		errType string
		says    string
	}{
		"active":          {reply{200, `{"Table":{"TableStatus":"ACTIVE","GlobalSecondaryIndexes":[{"IndexName":"i","IndexStatus":"ACTIVE"}]}}`, ""}, "", ""},
		"creating":        {reply{200, `{"Table":{"TableStatus":"CREATING"}}`, ""}, activities.TypeUnavailable, "CREATING"},
		"an index to be":  {reply{200, `{"Table":{"TableStatus":"ACTIVE","GlobalSecondaryIndexes":[{"IndexName":"i","IndexStatus":"CREATING"}]}}`, ""}, activities.TypeUnavailable, "index i CREATING"},
		"not there yet":   {reply{400, `{"__type":"ResourceNotFoundException"}`, ""}, activities.TypeUnavailable, "not there yet"},
		"may not be seen": {reply{400, `{"__type":"AccessDeniedException"}`, ""}, activities.TypeAccessDenied, ""},
	} {
		t.Run(name, func(t *testing.T) {
			db := against(t, &fakeDynamoDB{replies: []reply{c.reply}})
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.RegisterActivityWithOptions(db.awaitActive, activity.RegisterOptions{Name: wire.AwaitActive.Name})
			_, err := env.ExecuteActivity(wire.AwaitActive.Name, wire.AwaitActiveInput{TableName: "orders"})
			if c.errType == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, c.errType, activities.TypeOf(err))
			require.ErrorContains(t, err, c.says)
		})
	}
	require.Less(t, activeAgain, 5*time.Second)
}
