package programs_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"sluice/tests/harness"
	"sluice/workflows"
)

// refusing is a server that passes everything on to the stack's but what looks after a
// namespace, which it refuses as Temporal Cloud and authorizers do.
func refusing(t *testing.T, s *harness.Stack) (address string) {
	t.Helper()
	workflowService, err := proxy.NewWorkflowServiceProxyServer(proxy.WorkflowServiceProxyOptions{Client: s.Client.WorkflowService()})
	require.NoError(t, err)
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		answer, err := handle(ctx, request)
		return answer, serviceerror.ToStatus(err).Err()
	}))
	workflowservice.RegisterWorkflowServiceServer(server, workflowService)
	operatorservice.RegisterOperatorServiceServer(server, refusesAll{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

type refusesAll struct {
	operatorservice.UnimplementedOperatorServiceServer
}

// ListSearchAttributes is refused, unlike what is not implemented.
func (refusesAll) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest) (*operatorservice.ListSearchAttributesResponse, error) {
	return nil, serviceerror.NewPermissionDenied("Request unauthorized.", "")
}

// Where nobody may ask for the search attributes, a worker once did not start, and set-up
// and doctor failed, however well the namespace was set up.
func TestANamespaceIsCheckedWhereSearchAttributesMayNotBeListed(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s = harness.Start(t, harness.Options{Env: []string{"TEMPORAL_ADDRESS=" + refusing(t, s)}})
	s.StartWorker()
	require.Contains(t, s.Starter("setup").OK(t).Stdout, `"added": []`)
	s.Starter("doctor").OK(t)
}

// A namespace without them is told from one with them, type included, and the commands for
// those who may register them are in the error.
func TestMissingSearchAttributesAreFoundByQueries(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name, names := s.Name("bare"), workflows.AttributeNames()
	s.Temporal("operator", "namespace", "create", "--namespace", name).OK(t)
	harness.Await(t, "an attribute of another type is registered", func(context.Context) error {
		_, err := s.Client.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
			Namespace: name, SearchAttributes: map[string]enumspb.IndexedValueType{names[0]: enumspb.INDEXED_VALUE_TYPE_TEXT},
		})
		return err
	})
	bare := harness.Start(t, harness.Options{Env: []string{"TEMPORAL_ADDRESS=" + refusing(t, s), "TEMPORAL_NAMESPACE=" + name}})
	refused := bare.Starter("setup").Exits(t, 1).Stderr
	for _, one := range names {
		require.Contains(t, refused, one+"=Keyword")
	}
	require.Contains(t, refused, "tcld namespace search-attributes add")
	worker := bare.LaunchWorker()
	<-worker.Done()
	require.Contains(t, worker.Logs(), strings.Join(names, ", "))
}
