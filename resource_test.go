package sluice

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// TestResourceHeaderIsSentInASCII: gRPC sends no other value, and without the call
// a workflow with such an ID would be stuck for ever.
func TestResourceHeaderIsSentInASCII(t *testing.T) {
	for id, want := range map[string]string{"workflow:plain/1": "workflow:plain/1", "workflow:größe": "workflow:gr%C3%B6%C3%9Fe", "workflow:a\nb": "workflow:a%0Ab", "workflow:a\x7f": "workflow:a%7F"} {
		given := metadata.Pairs(resourceHeader, id, "other", "é")
		called := false
		err := printableResource(metadata.NewOutgoingContext(context.Background(), given), "m", nil, nil, nil,
			func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				sent, _ := metadata.FromOutgoingContext(ctx)
				require.Equal(t, []string{want}, sent[resourceHeader])
				require.Equal(t, []string{"é"}, sent["other"])
				called = true
				return nil
			})
		require.NoError(t, err)
		require.True(t, called)
		require.Equal(t, []string{id}, given[resourceHeader], "the caller's is left alone")
	}
}
