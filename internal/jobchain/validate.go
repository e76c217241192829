package jobchain

import (
	"regexp"
	"strconv"

	"sluice/internal/document"
	"sluice/internal/limits"
	"sluice/internal/wire"
)

var (
	idForm      = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
	wrongID     = "%q; an ID is 1 to 100 of A-Z a-z 0-9 _ . -"
	allowsRetry = "at least 0"
)

// Parse reads a document strictly. The faults are all there are, in the order in
// which a reader of the document meets them.
func Parse(raw []byte) (Document, document.Faults) {
	d := NewDocument()
	faults := document.Decode(raw, &d)
	if !faults.Paths()[""] { // nothing was read of what is no object
		d.Check(&faults)
	}
	return d, faults
}

// Check adds what is wrong with the document's meaning.
func (d *Document) Check(faults *document.Faults) {
	index := d.checkJobs(faults)
	d.checkOrder(faults, index)
	d.checkInputs(faults, index)
	for _, name := range sortedKeys(d.Sequences) {
		if s := d.Sequences[name]; s.Retry < 0 {
			faults.Add("sequences."+name+".retry", "%d; %s", s.Retry, allowsRetry)
		}
	}
	for _, id := range sortedKeys(d.Finished) {
		if _, ok := index[id]; !ok {
			faults.Add("finished."+id, "no job %q", id)
		}
	}
	if d.MaxParallelJobs < 0 || d.MaxParallelJobs > MaxParallel {
		faults.Add("maxParallelJobs", "%d; allowed are 0 (for %d) to %d", d.MaxParallelJobs, DefaultParallel, MaxParallel)
	}
	limits.CheckFairnessKey(faults, "fairnessKey", d.FairnessKey)
	limits.CheckAttribute(faults, "type", d.Type)
}

// CheckID sees to it that the IDs of the request's children fit, which are made of its
// own.
func (d *Document) CheckID(faults *document.Faults, id string) {
	longest := ""
	for i := range d.Jobs {
		if j := &d.Jobs[i]; j.Workflow != "" && len(j.ID) > len(longest) {
			longest = j.ID
		}
	}
	if longest != "" {
		limits.CheckID(faults, "workflow ID", id, wire.ChildID("", longest, strconv.Itoa(limits.MostNumber)))
	}
}

// checkJobs checks each job for itself and returns the jobs by ID.
func (d *Document) checkJobs(faults *document.Faults) map[string]int {
	unread := faults.Paths()
	if !unread["jobs"] && (len(d.Jobs) == 0 || len(d.Jobs) > MaxJobs) {
		faults.Add("jobs", "%d jobs; allowed are 1 to %d", len(d.Jobs), MaxJobs)
	}
	index := make(map[string]int, len(d.Jobs))
	for i := range d.Jobs {
		j, path := &d.Jobs[i], document.Index("jobs", i)
		if unread[path] {
			continue // it was not even an object
		}
		d.checkJob(faults, unread, path, j)
		if first, taken := index[j.ID]; taken && j.ID != "" {
			faults.Add(path+".id", "%q is the ID of jobs[%d] already", j.ID, first)
			continue
		}
		index[j.ID] = i
	}
	return index
}

func (d *Document) checkJob(faults *document.Faults, unread map[string]bool, path string, j *Job) {
	if !unread[path+".id"] && !idForm.MatchString(j.ID) {
		faults.Add(path+".id", wrongID, limits.Clip(j.ID, 120))
	}
	if (j.Activity == "") == (j.Workflow == "") && !unread[path+".activity"] && !unread[path+".workflow"] {
		faults.Add(path, "give either activity or workflow")
	}
	limits.CheckName(faults, path+".activity", j.Activity)
	limits.CheckName(faults, path+".workflow", j.Workflow)
	limits.CheckTaskQueue(faults, path+".taskQueue", j.TaskQueue)
	if j.Retry < 0 {
		faults.Add(path+".retry", "%d; %s", j.Retry, allowsRetry)
	}
	if j.Timeout <= 0 && !unread[path+".timeout"] {
		faults.Add(path+".timeout", "%v; it has to be longer", j.Timeout)
	}
	if j.Priority < 1 || j.Priority > 5 {
		faults.Add(path+".priority", "%d; allowed are 1 (first) to 5", j.Priority)
	}
	if _, ok := d.Sequences[j.Sequence]; j.Sequence != "" && !ok && !unread["sequences"] {
		faults.Add(path+".sequence", "no sequence %q", j.Sequence)
	}
}

// checkInputs checks the expressions in the jobs' inputs.
func (d *Document) checkInputs(faults *document.Faults, index map[string]int) {
	above := ancestors{doc: d, index: index}
	var known expressions
	for i := range d.Jobs {
		path := document.Index("jobs", i) + ".input"
		for _, e := range expressionsIn(d.Jobs[i].Input) {
			id, refers, err := known.check(e)
			if err != nil {
				faults.Add(document.Join(path, e.path), "%v", err)
				continue
			}
			if !refers {
				continue
			}
			at, exists := index[id]
			switch _, finished := d.Finished[id]; {
			case !exists:
				faults.Add(document.Join(path, e.path), "%q: no job %q", limits.Clip(e.text, maxShown), id)
			case !finished && !above.has(i, at, id):
				faults.Add(document.Join(path, e.path), "%q: job %q need not be complete by then; name it in after", limits.Clip(e.text, maxShown), id)
			}
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m { // order does not matter: the keys are sorted before anyone sees them
		keys = append(keys, k)
	}
	sortStrings(keys)
	return keys
}
