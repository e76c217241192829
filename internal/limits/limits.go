// Package limits knows what Temporal takes of names, IDs and values, so that a
// document is refused where it comes in and not by a workflow task that fails for
// ever: the server answers a command that breaks one of these by failing the task.
//
// All are in bytes of UTF-8, as the server counts. Whoever checks a document adds
// its faults by these functions; whether something may be missing is not asked
// here.
package limits

import (
	"encoding/json"
	"math"
	"strings"

	"sluice/internal/document"
)

// What the server takes at most, in bytes.
const (
	Name        = 1000 // of a workflow type, an activity, a signal or a task queue
	ID          = 1000 // of a workflow or an activity
	Attribute   = 2048 // value of a search attribute, written as JSON
	FairnessKey = 64
)

// MostNumber stands, where the longest suffix of an ID is wanted, for a number that
// goes on growing.
const MostNumber = math.MaxInt32

// Carried is how much a run hands to the next, in bytes of JSON: 1.75 MiB. The server
// terminates a workflow that hands on more than 2 MiB.
const Carried = 1792 << 10

// Words is how much of what a person or an error says is kept, in bytes: it is shown,
// carried from run to run, and part of results.
const Words = 1000

// Clip shortens text to at most n bytes without splitting a character.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len("…")], "") + "…"
}

// reservedQueues begins the task queues that are the server's own.
const reservedQueues = "/_sys/"

// CheckName checks the name of a workflow type, an activity or a signal.
func CheckName(faults *document.Faults, path, name string) {
	if len(name) > Name {
		faults.Add(path, "%d bytes; at most %d", len(name), Name)
	}
}

// CheckTaskQueue checks the name of a task queue; "" is whoever asks' own.
func CheckTaskQueue(faults *document.Faults, path, name string) {
	CheckName(faults, path, name)
	if strings.HasPrefix(name, reservedQueues) {
		faults.Add(path, "begins with %s; such task queues are Temporal's own", reservedQueues)
	}
}

// CheckID checks a workflow ID to which suffix is added at most.
func CheckID(faults *document.Faults, path, id, suffix string) {
	switch {
	case len(id)+len(suffix) <= ID:
	case suffix == "":
		faults.Add(path, "%d bytes; at most %d", len(id), ID)
	default:
		faults.Add(path, "%d bytes, and up to %d more for the IDs that are made of it, like …%s; at most %d together", len(id), len(suffix), suffix, ID)
	}
}

// CheckAttribute checks a value that is shown as a search attribute.
func CheckAttribute(faults *document.Faults, path, value string) {
	if n := attributeBytes(value); n > Attribute {
		faults.Add(path, "%d bytes as a search attribute, which it is shown as; at most %d", n, Attribute)
	}
}

// attributeBytes is how many bytes a value has as JSON, which is how it is sent.
func attributeBytes(value string) int {
	encoded, err := json.Marshal(value)
	if err != nil { // not reached: a string always has a JSON form
		return len(value)
	}
	return len(encoded)
}

// CheckFairnessKey checks a fairness key.
func CheckFairnessKey(faults *document.Faults, path, key string) {
	if len(key) > FairnessKey {
		faults.Add(path, "%d bytes; at most %d", len(key), FairnessKey)
	}
}
