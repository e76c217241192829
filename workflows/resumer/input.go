package resumer

import (
	"encoding/json"
	"time"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Input is the input of ResumeSuspended.
type Input struct {
	Holder      string            `json:"holder"` // "": the workflow's own run
	Filter      string            `json:"filter"` // an extra clause of the visibility query
	MaxParallel int               `json:"maxParallel"`
	Lease       duration.Duration `json:"lease"`
	Limit       int               `json:"limit"` // requests at most; 0: all
}

// maxFilter bounds the clause, which is carried from run to run.
const maxFilter = 16 << 10

func defaultInput() Input {
	return Input{MaxParallel: 10, Lease: duration.Duration(5 * time.Minute)}
}

// CheckInput tells what is wrong with the input of a new run of that ID, as the run
// would.
func CheckInput(id string, raw json.RawMessage) error {
	in := defaultInput()
	return shell.CheckInput(wire.TypeResumeSuspended, id, raw, &in)
}

// Check adds what is out of range.
func (in *Input) Check(faults *document.Faults) {
	if in.MaxParallel < 1 || in.MaxParallel > 100 {
		faults.Add("maxParallel", "%d; allowed are 1 to 100", in.MaxParallel)
	}
	if in.Lease <= 0 && !faults.Has("lease") {
		faults.Add("lease", "%v; it has to be longer", in.Lease)
	}
	if in.Limit < 0 {
		faults.Add("limit", "%d; at least 0", in.Limit)
	}
	if len(in.Holder) > jobchain.MaxHolder {
		faults.Add("holder", "%d bytes; at most %d", len(in.Holder), jobchain.MaxHolder)
	}
	if len(in.Filter) > maxFilter {
		faults.Add("filter", "%d bytes; at most %d", len(in.Filter), maxFilter)
	}
}
