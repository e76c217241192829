package resumer

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"
)

// Result tells what became of each request.
type Result struct {
	Resumed []string  `json:"resumed"`
	Skipped []Skipped `json:"skipped"`
	Failed  []Failed  `json:"failed"`
}

// Skipped is a request that another holder has claimed, or ("") that was
// not suspended any more.
type Skipped struct {
	ID     string `json:"id"`
	Holder string `json:"holder"`
}

// Failed is a request that could not be resumed.
type Failed struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// Status is the status document.
type Status struct {
	AsOf    time.Time `json:"asOf"`
	State   string    `json:"state"` // OPEN, DONE
	Holder  string    `json:"holder"`
	Total   int       `json:"total"`
	Waiting int       `json:"waiting"`
	Running int       `json:"running"`
	Result
}

func (s *sweep) publish(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d suspended requests: %d resumed, %d skipped, %d failed, %d waiting",
		s.total, len(s.result.Resumed), len(s.result.Skipped), len(s.result.Failed), len(s.waiting)))
}
