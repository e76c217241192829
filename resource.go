package sluice

import (
	"context"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// resourceHeader is the header in which the SDK tells the server, beside the
// request itself, which workflow a call is about.
const resourceHeader = "temporal-resource-id"

// AnyWorkflowID lets a client and its workers deal with workflows whose ID is not
// ASCII. The options of ClientOptions have it; a client made otherwise needs it as
// much, for the SDK's own is the same.
func AnyWorkflowID() grpc.DialOption { return grpc.WithChainUnaryInterceptor(printableResource) }

// printableResource writes the header's value in ASCII. gRPC refuses to send any
// other, and with it the call: no task of a workflow whose ID has an é in it could
// be answered, neither could it be signalled or asked.
func printableResource(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if sent, ok := metadata.FromOutgoingContext(ctx); ok {
		for i, value := range sent[resourceHeader] {
			if !printable(value) {
				// FromOutgoingContext made this copy.
				sent[resourceHeader][i] = url.PathEscape(value)
				ctx = metadata.NewOutgoingContext(ctx, sent)
			}
		}
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

func printable(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}
