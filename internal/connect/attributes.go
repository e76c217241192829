package connect

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// AttributesRefused says that the server lets nobody like us look after search attributes,
// as Temporal Cloud and authorizers do.
func AttributesRefused(err error) bool {
	var denied *serviceerror.PermissionDenied
	var unimplemented *serviceerror.Unimplemented
	return errors.As(err, &denied) || errors.As(err, &unimplemented)
}

// MissingAttributes are those of the names that the namespace does not have as search
// attributes of type Keyword. Where the server refuses to list them, a query on each tells.
func MissingAttributes(ctx context.Context, c client.Client, namespace string, names []string) (missing []string, err error) {
	found, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil && !AttributesRefused(err) {
		return nil, fmt.Errorf("look up search attributes: %w", err)
	}
	for _, name := range names {
		known := found.GetCustomAttributes()[name] == enumspb.INDEXED_VALUE_TYPE_KEYWORD
		if err != nil {
			var queried error
			if known, queried = isKeyword(ctx, c, namespace, name); queried != nil {
				return nil, queried
			}
		}
		if !known {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// isKeyword asks by a query that only a search attribute of type Keyword allows.
func isKeyword(ctx context.Context, c client.Client, namespace, name string) (bool, error) {
	_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: name + " STARTS_WITH 'x'"})
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up search attribute %s by a query: %w", name, err)
	}
	return true, nil
}
