package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Fault is what happens to calls that match Service, Operation ("" any) and
// Target ("" any; an S3 object is "<bucket>/<key>"): from the From-th (0: the first) on, Count of them (0: until it
// is deleted), counted from when the fault was added, and for at most For. AccessKey
// has it concern only what is signed with that key.
//
// Latency comes before the work. Status or Body are answered in place of the
// work, or with Work after it; Body in place of the document made of Code,
// Message and Reasons. Drop "request" resets the connection before the work,
// "answer" closes it after. Stall sends the headers and half of the body, and the
// rest so much later. Duplicate does the work twice. Skew is by how much the service's
// clock is ahead of this machine's: answers tell its time, and what is not signed near
// it is refused. Entries fail single entries of a batch.
type Fault struct {
	Service   Service  `json:"service"`
	Operation string   `json:"operation,omitempty"`
	Target    string   `json:"target,omitempty"`
	AccessKey string   `json:"accessKey,omitempty"`
	From      int      `json:"from,omitempty"`
	Count     int      `json:"count,omitempty"`
	For       Duration `json:"for,omitempty"`

	Latency   Duration `json:"latency,omitempty"`
	Status    int      `json:"status,omitempty"`
	Code      string   `json:"code,omitempty"`
	Message   string   `json:"message,omitempty"`
	Reasons   []Reason `json:"reasons,omitempty"`
	Body      string   `json:"body,omitempty"`
	Work      bool     `json:"work,omitempty"`
	Drop      string   `json:"drop,omitempty"`
	Stall     Duration `json:"stall,omitempty"`
	Duplicate bool     `json:"duplicate,omitempty"`
	Skew      Duration `json:"skew,omitempty"`
	Entries   []Entry  `json:"entries,omitempty"`
}

// An Entry fails entries of PutRecords, or leaves entries of a DynamoDB batch
// (its tables in order of their names) unprocessed. Those at Index, of Shard, with
// partition key Key; all, if none of these is given.
type Entry struct {
	Index   *int   `json:"index,omitempty"`
	Shard   string `json:"shard,omitempty"`
	Key     string `json:"key,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

func (e Entry) matches(index int, shard, key string) bool {
	return (e.Index == nil || *e.Index == index) && (e.Shard == "" || e.Shard == shard) && (e.Key == "" || e.Key == key)
}

// Reason is why a transaction was cancelled, by the position of its action; Code
// "None" for those that were not the cause.
type Reason struct {
	Code    string          `json:"Code"`
	Message string          `json:"Message,omitempty"`
	Item    json.RawMessage `json:"Item,omitempty"`
}

// Duration is written "1.5s" in JSON.
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = 0
		return nil
	}
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// MarshalText writes it as time.Duration prints.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (f Fault) validate() error {
	var errs []error
	if !slices.Contains([]Service{DynamoDB, Kinesis, S3, SQS, AzQueue}, f.Service) {
		errs = append(errs, fmt.Errorf("service %q is none of dynamodb, kinesis, s3, sqs, azqueue", f.Service))
	}
	if !slices.Contains([]string{"", "answer", "request"}, f.Drop) {
		errs = append(errs, fmt.Errorf(`drop %q is neither "answer" nor "request"`, f.Drop))
	}
	if f.From < 0 || f.Count < 0 {
		errs = append(errs, errors.New("from and count can't be negative"))
	}
	return errors.Join(errs...)
}

type activeFault struct {
	Fault
	ID    string `json:"id"`
	Seen  int    `json:"seen"`
	until time.Time
}

// faults are those in force.
type faults struct {
	mu     sync.Mutex
	last   int
	active []*activeFault
}

func newFaults() *faults { return &faults{} }

func (f *faults) add(fault Fault, now time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	added := &activeFault{Fault: fault, ID: strconv.Itoa(f.last)}
	if fault.For > 0 {
		added.until = now.Add(time.Duration(fault.For))
	}
	f.active = append(f.active, added)
	return added.ID
}

// remove deletes a fault, or all of them.
func (f *faults) remove(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = slices.DeleteFunc(f.active, func(a *activeFault) bool { return id == "" || a.ID == id })
}

func (f *faults) list() []activeFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]activeFault, len(f.active))
	for i, a := range f.active {
		list[i] = *a
	}
	return list
}

// match counts the call for every fault that it concerns and merges those whose
// turn it is.
func (f *faults) match(c *call, service Service, now time.Time) plan {
	f.mu.Lock()
	defer f.mu.Unlock()
	var p plan
	for _, a := range f.active {
		if !a.concerns(c, service) || (!a.until.IsZero() && now.After(a.until)) {
			continue
		}
		a.Seen++
		from := max(a.From, 1)
		if a.Seen >= from && (a.Count == 0 || a.Seen < from+a.Count) {
			p.merge(a.Fault)
		}
	}
	return p
}

func (f Fault) concerns(c *call, service Service) bool {
	return f.Service == service && (f.Operation == "" || f.Operation == c.operation) &&
		(f.Target == "" || f.Target == c.target || f.Target == c.object) &&
		(f.AccessKey == "" || f.AccessKey == accessKey(c.r))
}

// accessKey is the ID of the key that a request is signed with, "" where it has no
// signature of AWS's.
func accessKey(r *http.Request) string {
	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(credential, "/")
	return key
}
