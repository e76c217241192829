package sluice

import (
	"context"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"

	"sluice/workflows"
)

// CheckSetup fails when a search attribute is missing: an upsert of an unknown
// one fails the workflow task again and again, which nobody would see.
func (c *Clients) CheckSetup(ctx context.Context) error {
	found, err := c.Temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.Namespace})
	if err != nil {
		return fmt.Errorf("look up search attributes: %w", err)
	}
	var missing []string
	for _, name := range workflows.AttributeNames() {
		if found.GetCustomAttributes()[name] != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("search attributes of type Keyword are missing in namespace %s: %s; run `go run ./starter setup`, or set SLUICE_SKIP_SETUP_CHECK=true",
			c.Namespace, strings.Join(missing, ", "))
	}
	return nil
}
