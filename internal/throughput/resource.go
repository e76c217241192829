package throughput

import (
	"fmt"
	"strings"
)

// Direction is read or write; each has a budget of its own.
type Direction string

// The two directions.
const (
	Read  Direction = "read"
	Write Direction = "write"
)

// controlTable stands for the control plane of a region, which is no table.
const controlTable = "_control"

// What the control plane takes, in calls a second (A-S2).
const (
	ControlReads  = 100 * Unit
	ControlWrites = 1 * Unit
)

// A Resource is what has a budget: a table, or an index of one, in a direction.
type Resource struct {
	Place     string // "<region>", or "<scope>/<region>" where a scope is set
	Table     string // the name, never an ARN
	Index     string // "" for the table itself
	Direction Direction
}

// String is the name of the resource, the workflow ID of its budget without
// "throughput/": "dynamodb/eu-west-1/orders/index/byDate/read".
func (r Resource) String() string {
	name := "dynamodb/" + r.Place + "/" + r.Table
	if r.Index != "" {
		name += "/index/" + r.Index
	}
	return name + "/" + string(r.Direction)
}

// Control reports whether the resource is a control plane, and its fixed rate.
func (r Resource) Control() (unitsPerSecond Milli, ok bool) {
	if r.Table != controlTable {
		return 0, false
	}
	if r.Direction == Read {
		return ControlReads, true
	}
	return ControlWrites, true
}

// ParseResource is the twin of Resource.String. It reads from the right, since
// the place may have a slash and names of tables and indexes have none.
func ParseResource(name string) (r Resource, err error) {
	parts := strings.Split(name, "/")
	n := len(parts)
	if n < 4 || parts[0] != "dynamodb" {
		return r, fmt.Errorf("%q is not like dynamodb/<region>/<table>[/index/<name>]/read|write", name)
	}
	for _, part := range parts {
		if part == "" {
			return r, fmt.Errorf("%q has an empty part", name)
		}
	}
	r.Direction = Direction(parts[n-1])
	if r.Direction != Read && r.Direction != Write {
		return r, fmt.Errorf("%q ends neither in read nor in write", name)
	}
	parts = parts[1 : n-1]
	if n = len(parts); n >= 4 && parts[n-2] == "index" {
		r.Index = parts[n-1]
		parts = parts[:n-2]
	}
	n = len(parts)
	r.Table, r.Place = parts[n-1], strings.Join(parts[:n-1], "/")
	return r, nil
}

// TableName reduces an ARN of a table or index to the table's name; a name stays.
func TableName(nameOrARN string) string {
	if !strings.HasPrefix(nameOrARN, "arn:") {
		return nameOrARN
	}
	_, rest, ok := strings.Cut(nameOrARN, ":table/")
	if !ok {
		return nameOrARN
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// ControlPlane is the resource of a place's control plane.
func ControlPlane(place string, direction Direction) Resource {
	return Resource{Place: place, Table: controlTable, Direction: direction}
}
