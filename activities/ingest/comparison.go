package ingest

import (
	"sluice/activities"
	"sluice/internal/errortype"
	"sluice/internal/ingestion"
	"sluice/internal/wire"
)

// comparison holds a tally an object, by "<bucket>/<key>", in manifest order.
type comparison struct {
	run        string
	objects    []string
	unfinished map[string]bool  // no progress was written down
	unread     map[string]error // why their records could not be counted
	byObject   map[string]*ingestion.Tally
	foreign    []unreadable // delivered objects
	foreigners int64
}

func newComparison(run string) *comparison {
	return &comparison{
		run: run, unfinished: map[string]bool{}, unread: map[string]error{}, byObject: map[string]*ingestion.Tally{},
	}
}

func (c *comparison) add(name string, tally *ingestion.Tally) {
	c.objects = append(c.objects, name)
	c.byObject[name] = tally
}

// delivery is one delivery of a record.
type delivery struct {
	object string
	n      int64
}

// found is what a delivered object brought, or a part of it; err is why the rest
// of it could not be read.
type found struct {
	key        string
	deliveries []delivery
	err        error
}

func (c *comparison) take(f found) {
	for _, d := range f.deliveries {
		if tally := c.byObject[d.object]; tally != nil {
			tally.Deliver(d.n)
		}
	}
	if f.err == nil {
		return
	}
	if c.foreigners++; c.foreigners <= listedUnreadable {
		c.foreign = append(c.foreign, unreadable{Object: f.key, Error: reason(f.err)})
	}
}

// report is what the report object holds.
type report struct {
	wire.IngestSummary
	Run     string         `json:"run"`
	Objects []objectReport `json:"objects"`
	// UnreadableDelivered is how many objects of the delivery could not be read;
	// Unreadable lists the first of them. They may be anybody's.
	UnreadableDelivered int64        `json:"unreadableDelivered"`
	Unreadable          []unreadable `json:"unreadableObjects,omitempty"`
}

// unreadable is an object of the delivery that could not be read.
type unreadable struct {
	Object string `json:"object"`
	Error  string `json:"error"`
}

type objectReport struct {
	Object       string  `json:"object"`
	Records      int64   `json:"records"`
	Delivered    int64   `json:"delivered"`
	Missing      int64   `json:"missing"`
	Duplicated   int64   `json:"duplicated"`
	Unexpected   int64   `json:"unexpected"`
	TaskFinished bool    `json:"taskFinished"`
	FirstMissing []int64 `json:"firstMissing,omitempty"`
	Error        string  `json:"error,omitempty"` // why its records could not be counted
}

func (c *comparison) report() report {
	r := report{Run: c.run, UnreadableDelivered: c.foreigners, Unreadable: c.foreign}
	for _, name := range c.objects {
		t := c.byObject[name]
		o := objectReport{
			Object: name, Records: t.Expected(), Delivered: t.Delivered(), Missing: t.Missing(), Duplicated: t.Duplicated(),
			Unexpected: t.Unexpected, TaskFinished: !c.unfinished[name], FirstMissing: t.FirstMissing(listedMissing),
		}
		if err := c.unread[name]; err != nil {
			o.Error = reason(err)
			r.IngestSummary.Unreadable++
			if errortype.Final(activities.TypeOf(err)) {
				r.Lost += o.Missing
			}
		}
		r.Objects = append(r.Objects, o)
		r.Records += o.Records
		r.Delivered += o.Delivered
		r.Missing += o.Missing
		r.Duplicated += o.Duplicated
	}
	return r
}

// reason is an error as the report tells it, with its type.
func reason(err error) string {
	return activities.Shorten(activities.Redact(activities.Typed(err).Error()))
}
