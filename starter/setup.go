package main

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"sluice/internal/connect"
	"sluice/starter/internal/doctor"
	"sluice/workflows"
)

// setupCmd registers what Sluice needs in a namespace.
type setupCmd struct {
	Timeout time.Duration `help:"How long to wait until queries on the search attributes work." default:"1m"`
}

func (s setupCmd) Run(a *app) error {
	c, err := a.temporal()
	if err != nil {
		return err
	}
	added, err := a.addSearchAttributes(c)
	if err != nil {
		return err
	}
	if err := a.awaitQueries(c, s.Timeout); err != nil {
		return err
	}
	return a.result(map[string]any{"namespace": a.namespace, "searchAttributes": workflows.AttributeNames(), "added": added})
}

// needSetup fails where the search attributes are not registered: queries on them
// would fail, or find nothing.
func (a *app) needSetup(c client.Client) error {
	check := doctor.Temporal{Client: c, Namespace: a.namespace}.Attributes(a.ctx)
	if check.OK {
		return nil
	}
	return failed("search attributes of namespace %s: %s", a.namespace, check.Error)
}

// addSearchAttributes registers those that are missing and names them.
func (a *app) addSearchAttributes(c client.Client) ([]string, error) {
	found, err := c.OperatorService().ListSearchAttributes(a.ctx, &operatorservice.ListSearchAttributesRequest{Namespace: a.namespace})
	if connect.AttributesRefused(err) {
		return []string{}, a.haveSearchAttributes(c)
	}
	if err != nil {
		return nil, fmt.Errorf("look up search attributes: %w", err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	added := []string{}
	for _, name := range workflows.AttributeNames() {
		kind, ok := found.GetCustomAttributes()[name]
		if ok && kind != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			return nil, failed("search attribute %s exists as %s, not as Keyword; remove it first", name, kind)
		}
		if !ok {
			missing[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
			added = append(added, name)
		}
	}
	if len(missing) == 0 {
		return added, nil
	}
	_, err = c.OperatorService().AddSearchAttributes(a.ctx, &operatorservice.AddSearchAttributesRequest{Namespace: a.namespace, SearchAttributes: missing})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return nil, fmt.Errorf("register search attributes: %w", err)
	}
	return added, nil
}

// haveSearchAttributes fails where attributes are missing that the server does not let us
// register, with the commands of those who may.
func (a *app) haveSearchAttributes(c client.Client) error {
	missing, err := connect.MissingAttributes(a.ctx, c, a.namespace, workflows.AttributeNames())
	if err != nil || len(missing) == 0 {
		return err
	}
	cloud, own := "tcld namespace search-attributes add --namespace "+a.namespace, "temporal operator search-attribute create --type Keyword --namespace "+a.namespace
	for _, name := range missing {
		cloud += ` --search-attribute "` + name + `=Keyword"`
		own += " --name " + name
	}
	return failed("search attributes of namespace %s are missing, and the server does not let you register them. On Temporal Cloud: %s; on a server of your own, as its administrator: %s",
		a.namespace, cloud, own)
}

// awaitQueries returns when a query on each attribute works, which takes a
// moment after its registration.
func (a *app) awaitQueries(c client.Client, timeout time.Duration) error {
	var query string
	for i, name := range workflows.AttributeNames() {
		if i > 0 {
			query += " AND "
		}
		query += name + " = 'x'"
	}
	deadline := time.Now().Add(timeout)
	for {
		_, err := c.CountWorkflow(a.ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: a.namespace, Query: query})
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return failed("search attributes are registered, but a query on them still fails after %s: %v", timeout, err)
		}
		select {
		case <-a.ctx.Done():
			return a.ctx.Err()
		case <-time.After(pollInterval / 4):
		}
	}
}
