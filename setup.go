package sluice

import (
	"context"
	"fmt"
	"strings"

	"sluice/internal/connect"
	"sluice/workflows"
)

// CheckSetup fails when a search attribute is missing: an upsert of an unknown
// one fails the workflow task again and again, which nobody would see.
func (c *Clients) CheckSetup(ctx context.Context) error {
	missing, err := connect.MissingAttributes(ctx, c.Temporal, c.Namespace, workflows.AttributeNames())
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("search attributes of type Keyword are missing in namespace %s: %s; run `go run ./starter setup`, or set SLUICE_SKIP_SETUP_CHECK=true",
			c.Namespace, strings.Join(missing, ", "))
	}
	return nil
}
