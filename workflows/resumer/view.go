package resumer

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Result tells what became of each request.
type Result struct {
	Resumed []string  `json:"resumed"`
	Skipped []Skipped `json:"skipped"`
	Failed  []Failed  `json:"failed"`
	Omitted int       `json:"omitted,omitempty"` // how many more there were than a result may hold
	Left    int       `json:"left,omitempty"`    // how many more were suspended than a sweep takes: the next one's
	// LastError is what failed last on the way, also where it went well in the end.
	LastError string `json:"lastError,omitempty"`
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
	AsOf    time.Time      `json:"asOf"`
	State   string         `json:"state"` // OPEN, DONE
	Holder  string         `json:"holder"`
	Total   int            `json:"total"`
	Waiting int            `json:"waiting"`
	Running int            `json:"running"`
	Trouble *shell.Trouble `json:"trouble"`
	Result
}

// maxSwept bounds what is told of the requests, in bytes of JSON.
const maxSwept = 640 << 10

// sweptFields is more than what the names of the fields take.
const sweptFields = len(`{"id":,"holder":},`)

// note takes down what became of a request, as long as there is room for it.
func (s *sweep) note(id string, became wire.Resumed) {
	s.progress = s.progress || became.Resumed
	if became.Error != "" {
		s.result.LastError = id + ": " + became.Error
	}
	encoded, err := json.Marshal([]string{id, became.Holder, became.Error})
	if err != nil || s.bytes+len(encoded)+sweptFields > maxSwept {
		s.result.Omitted++
		return
	}
	s.bytes += len(encoded) + sweptFields
	switch {
	case became.Resumed:
		s.result.Resumed = append(s.result.Resumed, id)
	case became.Skipped:
		s.result.Skipped = append(s.result.Skipped, Skipped{id, became.Holder})
	default:
		s.result.Failed = append(s.result.Failed, Failed{id, became.Error})
	}
}

// show sets the search attributes to the present state.
func (s *sweep) show(ctx workflow.Context) error {
	return s.shown.Show(ctx, shell.Shown{State: s.state, Type: wire.TypeResumeSuspended, Ended: s.state == wire.StateDone})
}

func (s *sweep) publish(ctx workflow.Context) {
	if heard := shell.Heard(ctx); heard.Error != "" {
		s.result.LastError = heard.Error
	}
	_ = s.shown.Show(ctx, shell.Shown{}) // fails only where another does, which is told
	shell.ShowDetails(ctx, workflow.Now(ctx), shell.Heard(ctx), fmt.Sprintf("%d suspended requests: %d resumed, %d skipped, %d failed, %d waiting",
		s.total, len(s.result.Resumed), len(s.result.Skipped), len(s.result.Failed), len(s.waiting)))
}
