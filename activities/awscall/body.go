package awscall

import (
	"context"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// AddPlainBodies hides from the HTTP transport that a request's body can write
// itself. The SDK closes a body as soon as the answer's headers are there, and the
// transport, when it has sent a body, looks whether more comes. A closed body that
// is read says that it is at its end, but one that is to write itself fails with
// io.EOF; the transport then takes the request for broken and closes the connection
// while the answer is being read. Of some thousand fast answers one was lost so.
func AddPlainBodies(stack *middleware.Stack) error {
	const id = "SluicePlainBody"
	if _, there := stack.Deserialize.Get(id); there {
		return nil
	}
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc(id,
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
			middleware.DeserializeOutput, middleware.Metadata, error,
		) {
			if request, ok := in.Request.(*smithyhttp.Request); ok {
				plain, err := plainBody(request)
				if err != nil {
					return middleware.DeserializeOutput{}, middleware.Metadata{}, err
				}
				in.Request = plain
			}
			return next.HandleDeserialize(ctx, in)
		}), middleware.After)
}

func plainBody(request *smithyhttp.Request) (*smithyhttp.Request, error) {
	stream, seeks := request.GetStream().(io.ReadSeeker)
	if _, writes := request.GetStream().(io.WriterTo); !seeks || !writes {
		return request, nil
	}
	return request.SetStream(struct{ io.ReadSeeker }{stream})
}
