package activities

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
)

// A final error stays final, and keeps its type, whatever it was joined with or
// wrapped in: else it is repeated for ever.
func TestJoinedAndWrappedErrorsKeepTheirType(t *testing.T) {
	final := Fail(TypeInvalidInput, Failure{Message: "the gzip text is cut off"})
	passing := Fail(TypeUnavailable, Failure{Message: "503"})
	plain := errors.New("close")
	for name, c := range map[string]struct {
		err   error
		typ   string
		final bool
	}{
		"as it is":              {final, TypeInvalidInput, true},
		"joined":                {errors.Join(final, plain), TypeInvalidInput, true},
		"joined behind another": {errors.Join(plain, final), TypeInvalidInput, true},
		"wrapped":               {fmt.Errorf("manifest: %w", final), TypeInvalidInput, true},
		"wrapped and joined":    {errors.Join(fmt.Errorf("manifest: %w", errors.Join(plain, final)), plain), TypeInvalidInput, true},
		"both kinds":            {errors.Join(passing, final), TypeInvalidInput, true},
		"to be repeated":        {errors.Join(passing, plain), TypeUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{Interceptor()}})
			env.RegisterActivityWithOptions(func(context.Context) error { return c.err }, activity.RegisterOptions{Name: "fails"})
			_, err := env.ExecuteActivity("fails")
			var application *temporal.ApplicationError
			require.ErrorAs(t, err, &application)
			require.Equal(t, c.typ, application.Type())
			require.Equal(t, c.final, application.NonRetryable())
		})
	}
	require.Equal(t, plain, Typed(plain))
	require.NoError(t, Typed(nil))
}
