package claimtasks

import (
	"encoding/json"
	"time"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/limits"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Input starts a claimer.
type Input struct {
	Queues            []wire.QueueRef   `json:"queues,omitempty"` // in order of priority
	SignedURLs        *wire.SignedURLs  `json:"signedUrls,omitempty"`
	Capacity          int               `json:"capacity"` // running at once, 1 to 1000
	MaxTasks          int64             `json:"maxTasks"` // claims in all; 0: no limit
	Interval          duration.Duration `json:"interval"`
	MaxInterval       duration.Duration `json:"maxInterval"`
	VisibilityTimeout duration.Duration `json:"visibilityTimeout,omitempty"` // "": 5m; refused with signedUrls
	WarnDequeueCount  int64             `json:"warnDequeueCount"`
	MaxDequeueCount   int64             `json:"maxDequeueCount"`
	PoisonQueue       string            `json:"poisonQueue"`
	Claim             wire.ClaimSpec    `json:"claim"`
	Run               wire.RunSpec      `json:"run"`
	FairnessKey       string            `json:"fairnessKey"`
}

// defaultInput is the input with the defaults of the contract.
func defaultInput() Input {
	return Input{
		Capacity: 10, Interval: duration.Duration(5 * time.Second), MaxInterval: duration.Duration(time.Minute),
		WarnDequeueCount: 5, MaxDequeueCount: 15,
		Claim: wire.ClaimSpec{ReclaimBefore: duration.Duration(3 * time.Minute)},
		Run:   wire.RunSpec{Workflow: wire.TypeRequest},
	}
}

// CheckInput tells what is wrong with the input of a new run of that ID, as the run
// would.
func CheckInput(id string, raw json.RawMessage) error {
	in := defaultInput()
	return shell.CheckInput(wire.TypeClaimTasks, id, raw, &in)
}

// maxCapacity bounds the tasks of one claimer.
const maxCapacity = 1000

// Check reports what is wrong with the values.
func (in *Input) Check(faults *document.Faults) {
	in.checkSource(faults)
	if in.Capacity < 1 || in.Capacity > maxCapacity {
		faults.Add("capacity", "%d is not from 1 to %d", in.Capacity, maxCapacity)
	}
	if in.MaxTasks < 0 {
		faults.Add("maxTasks", "%d is negative; 0 means no limit", in.MaxTasks)
	}
	if in.MaxInterval < in.Interval {
		faults.Add("maxInterval", "%s is shorter than interval, %s", in.MaxInterval, in.Interval)
	}
	if in.WarnDequeueCount < 1 {
		faults.Add("warnDequeueCount", "%d is less than 1", in.WarnDequeueCount)
	}
	if in.MaxDequeueCount < 1 {
		faults.Add("maxDequeueCount", "%d is less than 1", in.MaxDequeueCount)
	}
	if in.PoisonQueue != "" {
		checkQueueName(faults, "poisonQueue", in.PoisonQueue)
	}
	if in.Run.Workflow == "" {
		faults.Add("run.workflow", "must not be empty")
	}
	limits.CheckName(faults, "run.workflow", in.Run.Workflow)
	limits.CheckTaskQueue(faults, "run.taskQueue", in.Run.TaskQueue)
	limits.CheckFairnessKey(faults, "fairnessKey", in.FairnessKey)
	in.checkClaim(faults)
	in.checkPoisonNames(faults)
}

func (in *Input) checkSource(faults *document.Faults) {
	switch {
	case len(in.Queues) == 0 && in.SignedURLs == nil && !faults.Has("queues") && !faults.Has("signedUrls"):
		faults.Add("", "one of queues and signedUrls is required")
	case len(in.Queues) > 0 && in.SignedURLs != nil:
		faults.Add("signedUrls", "only one of queues and signedUrls may be given")
	}
	seen := map[string]bool{}
	for i, q := range in.Queues {
		path := document.Index("queues", i) + ".name"
		if faults.Has(path) {
			continue
		}
		checkQueueName(faults, path, q.Name)
		if seen[q.Name] {
			faults.Add(path, "queue %s is listed twice", q.Name)
		}
		if q.Name == in.PoisonQueue {
			faults.Add("poisonQueue", "%s is one of the queues: poison would be claimed again", q.Name)
		}
		seen[q.Name] = true
	}
	if s := in.SignedURLs; s != nil {
		checkService(faults, "signedUrls.service", s.Service)
		checkID(faults, "signedUrls.provisionerId", s.ProvisionerID)
		checkID(faults, "signedUrls.workerType", s.WorkerType)
		if in.VisibilityTimeout != 0 {
			faults.Add("visibilityTimeout", "goes with queues only: signed URLs have a visibility timeout of their own")
		}
		return
	}
	if in.VisibilityTimeout == 0 {
		in.VisibilityTimeout = duration.Duration(5 * time.Minute)
	}
	if v := in.VisibilityTimeout.Std(); v < time.Second || v > 7*24*time.Hour {
		faults.Add("visibilityTimeout", "%s is not from 1s to 168h", in.VisibilityTimeout)
	}
}

// checkClaim wants the whole of claim, or nothing of it.
func (in *Input) checkClaim(faults *document.Faults) {
	c := in.Claim
	if c.Service == "" && c.WorkerGroup == "" && c.WorkerID == "" {
		return
	}
	checkService(faults, "claim.service", c.Service)
	checkID(faults, "claim.workerGroup", c.WorkerGroup)
	checkID(faults, "claim.workerId", c.WorkerID)
}

func checkQueueName(faults *document.Faults, path, name string) {
	if err := taskmessage.CheckQueueName(name); err != nil {
		faults.Add(path, "%v", err)
	}
}

// checkPoisonNames wants names that leave room for the suffix of a poison queue.
func (in *Input) checkPoisonNames(faults *document.Faults) {
	if in.PoisonQueue != "" {
		return
	}
	for i, q := range in.Queues {
		path := document.Index("queues", i) + ".name"
		if err := taskmessage.CheckPoisonedBy(q.Name); err != nil && !faults.Has(path) {
			faults.Add(path, "%v", err)
		}
	}
}

func checkID(faults *document.Faults, path, id string) {
	if !faults.Has(path) && !taskmessage.ValidID(id) {
		faults.Add(path, "%q does not match [A-Za-z0-9_-]{1,64}", id)
	}
}

func checkService(faults *document.Faults, path, service string) {
	if faults.Has(path) {
		return
	}
	if err := taskmessage.CheckService(service); err != nil {
		faults.Add(path, "%v", err)
	}
}

// pollSpec is what the polling activity has to know.
func (in *Input) pollSpec() wire.PollSpec {
	return wire.PollSpec{
		Queues: in.Queues, SignedURLs: in.SignedURLs, Interval: in.Interval, MaxInterval: in.MaxInterval,
		VisibilityTimeout: in.VisibilityTimeout, WarnDequeueCount: in.WarnDequeueCount, MaxDequeueCount: in.MaxDequeueCount,
		PoisonQueue: in.PoisonQueue, Claim: in.Claim, Run: in.Run, FairnessKey: in.FairnessKey, Capacity: in.Capacity,
	}
}
