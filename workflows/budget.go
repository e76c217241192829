package workflows

// ThroughputInput is the input of Throughput; units are capacity units a second.
type ThroughputInput struct {
	Resource       string  `json:"resource"`                 // the workflow ID without "throughput/"
	UnitsPerSecond float64 `json:"unitsPerSecond,omitempty"` // 0: as DescribeTable has it
	Utilization    float64 `json:"utilization,omitempty"`    // the part of it that is used: 0.98
}

// PauseMessage pauses a budget, or lets it go on.
type PauseMessage struct {
	Reason string `json:"reason,omitempty"`
	For    string `json:"for,omitempty"` // "0s": until unpaused
}

// SetMessage sets what is not nil.
type SetMessage struct {
	UnitsPerSecond *float64 `json:"unitsPerSecond,omitempty"` // 0: as DescribeTable has it
	Utilization    *float64 `json:"utilization,omitempty"`
}

// LeaseMessage asks for a share.
type LeaseMessage struct {
	Worker    string             `json:"worker"`           // unique in the fleet
	Demand    map[string]float64 `json:"demand,omitempty"` // units a second by priority, "1" to "5"
	Consumed  float64            `json:"consumed,omitempty"`
	Throttled int                `json:"throttled,omitempty"`
	TaskQueue string             `json:"taskQueue,omitempty"` // the worker's own, on which capacity is looked up
}

// ReleaseMessage gives a share back.
type ReleaseMessage struct {
	Worker string `json:"worker"`
}
