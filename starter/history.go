package main

import (
	"fmt"
	"os"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

type historyCmd struct {
	Export historyExportCmd `cmd:"" help:"Write a run's history as JSON that the replay tests load."`
}

// historyExportCmd writes the same form as temporal workflow show --output json.
type historyExportCmd struct {
	ID     string `arg:"" help:"Workflow ID."`
	RunID  string `name:"run-id" help:"Run ID; by default the latest."`
	Output string `short:"o" help:"File to write instead of standard output." placeholder:"FILE"`
}

func (h historyExportCmd) Run(a *app) error {
	c, err := a.same([]string{"temporal", "workflow", "show", "--workflow-id", h.ID, "--output", "json"})
	if err != nil {
		return err
	}
	history := &historypb.History{}
	events := c.GetWorkflowHistory(a.ctx, h.ID, h.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return fmt.Errorf("history of %s: %w", h.ID, err)
		}
		history.Events = append(history.Events, event)
	}
	raw, err := protojson.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(history)
	if err != nil {
		return err
	}
	if h.Output == "" {
		_, err = fmt.Fprintln(a.stdout, string(raw))
		return err
	}
	return os.WriteFile(h.Output, append(raw, '\n'), 0o644)
}
