package throughput

import (
	"context"
	"errors"
	"strings"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// once marks the context of a question that is asked once: the SDK repeats a call
// that the server refuses, within a second or two, as long as its context lasts.
type once struct{}

// AskOnce is for every client that leases. The server takes ten updates of a workflow
// at a time; the eleventh is refused, and aborts the ten. A fleet whose clients each
// repeat theirs at once gets no lease any more, for as long as that goes on. So a
// question to an owner is asked once, and whoever got no answer waits as its rules
// say: longer with each failure, and at random.
func AskOnce() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
		invoker grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		err := invoker(ctx, method, req, reply, cc, opts...)
		if ctx.Value(once{}) == nil {
			return err
		}
		switch code := status.Code(err); code {
		case codes.ResourceExhausted, codes.Unavailable, codes.Aborted, codes.Unknown:
			return status.Errorf(codes.FailedPrecondition, "%s%s: %s", refused, code, status.Convert(err).Message())
		default:
			return err
		}
	})
}

// refused begins what the server says of a question that is not repeated.
const refused = "not asked again at once: "

// closing is what the server says of a run that is about to be followed by the next,
// as an owner in use is every few minutes. That takes no time to speak of.
const closing = "workflow is closing"

// busy reports that an owner was asked by more at a time than the server lets it be.
func busy(err error) bool {
	if err != nil && strings.Contains(err.Error(), closing) {
		return false
	}
	var exhausted *serviceerror.ResourceExhausted
	if errors.As(err, &exhausted) {
		return true
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	return strings.Contains(text, refused+codes.ResourceExhausted.String()) || strings.Contains(text, "update was aborted") ||
		strings.Contains(text, "Update-with-Start could not be executed")
}
