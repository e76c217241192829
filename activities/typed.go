package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
)

// Interceptor has activities end with the typed error that is somewhere in what
// they return. Temporal looks at the outermost error only: one of ours that was
// joined with another, or wrapped in words, would be of no type there, and be
// repeated though it is final.
func Interceptor() interceptor.WorkerInterceptor { return &typedErrors{} }

type typedErrors struct {
	interceptor.WorkerInterceptorBase
}

func (*typedErrors) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &typedErrorsInbound{}
	i.Next = next
	return i
}

type typedErrorsInbound struct {
	interceptor.ActivityInboundInterceptorBase
}

func (i *typedErrorsInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := i.Next.ExecuteActivity(ctx, in)
	return result, Typed(err)
}

// Typed is the error of Temporal's that err has in its chain, else err. Of
// several it is a final one, which no repeat mends.
func Typed(err error) error {
	var first error
	for _, e := range typedIn(err) {
		var application *temporal.ApplicationError
		if errors.As(e, &application) && application.NonRetryable() {
			return e
		}
		if first == nil {
			first = e
		}
	}
	if first != nil {
		return first
	}
	return err
}

// typedIn lists the errors in the tree of err that tell Temporal more than a text.
func typedIn(err error) []error {
	switch e := err.(type) {
	case nil:
		return nil
	case *temporal.ApplicationError, *temporal.CanceledError, *temporal.TimeoutError:
		return []error{err}
	case interface{ Unwrap() []error }:
		var all []error
		for _, part := range e.Unwrap() {
			all = append(all, typedIn(part)...)
		}
		return all
	default:
		return typedIn(errors.Unwrap(err))
	}
}
