package throughput

import "sluice/internal/throughput"

// continued is the input of a run that goes on from another.
type continued struct {
	Input
	Carried *throughput.Owner `json:"carried,omitempty"`
}
