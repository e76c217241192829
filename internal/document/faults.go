package document

import (
	"errors"
	"fmt"
	"strings"
)

// A Fault is one thing that is wrong with a document.
type Fault struct {
	Path    string // where: "jobs[2].after[0]"; "" is the whole document
	Message string // what is wrong and, where it can be said, the mend

	more int // of the last one that is kept: how many came after it
}

// maxFaultText bounds a path and a message, in bytes: a value that is a megabyte of
// text is told by its two ends, and leaves room for the other faults.
const maxFaultText = 2 << 10

func (f Fault) String() string {
	if f.Path == "" {
		return ends(f.Message)
	}
	return ends(f.Path) + ": " + ends(f.Message)
}

// ends are the first and the last of a text that is too long.
func ends(text string) string {
	if len(text) <= maxFaultText {
		return text
	}
	const last = maxFaultText / 4
	return strings.ToValidUTF8(text[:maxFaultText-last], "") + "…" + strings.ToValidUTF8(text[len(text)-last:], "")
}

// Faults are all things that are wrong with a document, in the order found.
type Faults []Fault

// maxFaults bounds how many are kept; the rest is counted. A list of a hundred thousand
// wrong elements is looked through for each of them.
const maxFaults = 1000

// Add records a fault at path.
func (fs *Faults) Add(path, format string, args ...any) {
	if len(*fs) < maxFaults {
		*fs = append(*fs, Fault{Path: path, Message: fmt.Sprintf(format, args...)})
		return
	}
	(*fs)[maxFaults-1].more++
}

// take adds the error of a value that reads itself: its faults, if it tells
// several, or one.
func (fs *Faults) take(path string, err error) {
	var several Faults
	switch {
	case err == nil:
	case errors.As(err, &several):
		for _, f := range several {
			fs.Add(Join(path, f.Path), "%s", f.Message)
		}
	default:
		fs.Add(path, "%v", err)
	}
}

// Has reports whether a fault was recorded at path or below it, so that a check
// of meaning need not complain again about a value that could not be read.
func (fs Faults) Has(path string) bool {
	if path == "" {
		return false
	}
	for _, f := range fs {
		if below, ok := strings.CutPrefix(f.Path, path); ok && (below == "" || below[0] == '.' || below[0] == '[') {
			return true
		}
	}
	return false
}

// Paths are the paths of the faults so far, so that who checks what many values
// mean passes over those that could not be read.
func (fs Faults) Paths() map[string]bool {
	paths := make(map[string]bool, len(fs))
	for _, f := range fs {
		paths[f.Path] = true
	}
	return paths
}

// Under returns the faults with prefix put in front of every path.
func (fs Faults) Under(prefix string) Faults {
	moved := make(Faults, len(fs))
	for i, f := range fs {
		moved[i] = Fault{Path: Join(prefix, f.Path), Message: f.Message, more: f.more}
	}
	return moved
}

// Err returns nil when there is no fault, else one error that names all.
func (fs Faults) Err() error {
	if len(fs) == 0 {
		return nil
	}
	return fs
}

// maxErrorText bounds Error, in bytes. Ten thousand elements may each have their
// faults, and an error that does not fit into a message of Temporal's never
// reaches anybody.
const maxErrorText = 64 << 10

// Error joins the faults with "; ", so that one line tells all; what does not
// fit into 64 KiB is counted.
func (fs Faults) Error() string {
	var text strings.Builder
	more := 0
	for i, f := range fs {
		line := f.String()
		more += f.more
		switch {
		case more > f.more, i > 0 && text.Len()+len(line) > maxErrorText:
			more++
			continue
		case i > 0:
			text.WriteString("; ")
		}
		text.WriteString(line)
	}
	if more > 0 {
		fmt.Fprintf(&text, "; and %d more", more)
	}
	return text.String()
}

// Join puts a path below another: Join("jobs[2]", "after") is "jobs[2].after".
func Join(prefix, path string) string {
	switch {
	case prefix == "":
		return path
	case path == "":
		return prefix
	case strings.HasPrefix(path, "["):
		return prefix + path
	default:
		return prefix + "." + path
	}
}

// Index is the path of element i of a list at path.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Parent is the path above path: that of "a.b" and of "a[2]" is "a".
func Parent(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }
