package jobchain

import (
	"encoding/json"

	"sluice/internal/document"
	"sluice/internal/limits"
)

// Missing are the inputs that take a value of the arguments which is not there, so
// that their jobs will fail. A start takes such a document all the same.
func (d *Document) Missing() (faults document.Faults) {
	var args any
	if len(d.Args) > 0 && json.Unmarshal(d.Args, &args) != nil {
		return nil
	}
	var known expressions
	for i := range d.Jobs {
		for _, e := range expressionsIn(d.Jobs[i].Input) {
			compiled, err := known.compile(e.text)
			if err != nil {
				continue // told as a fault
			}
			names, whole := compiled.Path()
			if whole && len(names) > 1 && names[0] == "args" && !has(args, names[1:]) {
				faults.Add(document.Join(document.Index("jobs", i)+".input", e.path), "%q: it is not in args", limits.Clip(e.text, maxShown))
			}
		}
	}
	return faults
}

// has reports that there is a value other than null under these names.
func has(value any, names []string) bool {
	for _, name := range names {
		members, ok := value.(map[string]any)
		if !ok {
			return false
		}
		value = members[name]
	}
	return value != nil
}

// Advice is what is allowed and often not meant: jobs without a heartbeat.
func (d *Document) Advice() (faults document.Faults) {
	for i := range d.Jobs {
		if j := &d.Jobs[i]; j.Activity != "" && j.Heartbeat == 0 {
			faults.Add(document.Index("jobs", i)+".heartbeat",
				"none: a lost worker is noticed only at the timeout (%v), and the job can't be interrupted; give it one, such as \"15s\", if the activity heartbeats", j.Timeout)
		}
	}
	return faults
}
