package throughput

import (
	"time"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/limits"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// usualUtilization is the part of what is provisioned that the fleet uses: the
// rest is for what others do, and for clocks that disagree.
const usualUtilization throughput.Milli = 980 // 0.98

// Input starts the owner of a budget.
type Input struct {
	Resource       string           `json:"resource" doc:"required"` // the workflow ID without "throughput/"
	UnitsPerSecond throughput.Milli `json:"unitsPerSecond"`          // 0: from DescribeTable
	Utilization    throughput.Milli `json:"utilization"`             // part of it that is used, 0.01–1; default 0.98
}

// Check sees to it that the resource is one and the figures are in range.
func (in *Input) Check(faults *document.Faults) {
	if !faults.Has("resource") {
		resource, err := throughput.ParseResource(in.Resource)
		if err != nil {
			faults.Add("resource", "%v", err)
		}
		limits.CheckAttribute(faults, "resource", resource.Table)
		limits.CheckID(faults, "resource", wire.ThroughputID(in.Resource), "")
	}
	checkUtilization(faults, in.Utilization)
}

func checkUtilization(faults *document.Faults, utilization throughput.Milli) {
	if !faults.Has("utilization") && (utilization < throughput.Unit/100 || utilization > throughput.Unit) {
		faults.Add("utilization", "%v is not between 0.01 and 1", utilization)
	}
}

// Set is the input of the update set; what is absent stays.
type Set struct {
	UnitsPerSecond *throughput.Milli `json:"unitsPerSecond"` // 0: what the service says
	Utilization    *throughput.Milli `json:"utilization"`
}

// Check sees to it that something is set, and in range.
func (in *Set) Check(faults *document.Faults) {
	if in.UnitsPerSecond == nil && in.Utilization == nil && len(*faults) == 0 {
		faults.Add("", "nothing to set: unitsPerSecond or utilization is needed")
	}
	if in.Utilization != nil {
		checkUtilization(faults, *in.Utilization)
	}
}

// Pause is the input of pause and unpause, as updates and signals.
type Pause struct {
	Reason string            `json:"reason"`
	For    duration.Duration `json:"for"` // 0: until unpaused
}

// Release is the input of the update release.
type Release struct {
	Worker string `json:"worker" doc:"required"`
}

// newOwner is the state with which a budget begins. The control plane has fixed
// rates, and no reserve is kept from them.
func newOwner(in Input, now time.Time) *throughput.Owner {
	o := &throughput.Owner{Resource: in.Resource, Started: now, Used: now, Utilization: in.Utilization}
	r, _ := throughput.ParseResource(in.Resource) // was checked
	if fixed, ok := r.Control(); ok {
		o.Utilization = throughput.Unit
		o.Describe(now, fixed)
	}
	if in.UnitsPerSecond > 0 {
		o.Set(now, &in.UnitsPerSecond, nil, o.Utilization)
	}
	return o
}
