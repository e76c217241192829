package jobchain

import (
	"encoding/json"
	"time"
)

// A Run is what a run of a request hands to the next besides the document, in
// whose `finished` the outputs are.
type Run struct {
	Created  time.Time      `json:"created"`
	Gate     Gate           `json:"gate"`
	Chain    Carried        `json:"chain"`
	Children []CarriedChild `json:"children,omitempty"`
}

// CarriedChild is a child workflow that runs on.
type CarriedChild struct {
	Job       int       `json:"job"`
	Number    int       `json:"number"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Told      int       `json:"told,omitempty"`     // what it was last told to do
	TimedOut  bool      `json:"timedOut,omitempty"` // it was stopped because its time was over
	Begun     bool      `json:"begun,omitempty"`    // it has done its first task
	Stopping  int       `json:"stopping,omitempty"` // 1 + what a child request last told of its stopping jobs
}

// Continued is the input of a run that goes on from another.
type Continued struct {
	Document
	Carried json.RawMessage `json:"carried,omitempty"`
}

// HandOver writes down the chain beside the rest of a run, MaxCarried bytes at most. What the chain has taken in leaves room for that; the log gets what is
// left.
func (c *Chain) HandOver(run Run) (Continued, error) {
	const frame = len(`,"carried":`)
	doc, chain := c.Carry(run.Created, encodedSize(run)+frame, c.limit)
	run.Chain = chain
	raw, err := json.Marshal(run)
	return Continued{Document: doc, Carried: raw}, err
}
