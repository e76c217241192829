package hostile_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"sluice/internal/wire"
)

// A message is one of a workflow, with its schema and the ways in which it comes.
type message struct {
	workflow, name, schema string
	update, signal, query  bool
}

var messages = []message{
	{wire.TypeRequest, wire.UpdateSuspend, "request.suspend", true, true, false},
	{wire.TypeRequest, wire.UpdateResume, "request.resume", true, true, false},
	{wire.TypeRequest, wire.UpdateStop, "request.stop", true, true, false},
	{wire.TypeRequest, wire.UpdateClaim, "request.claim", true, false, false},
	{wire.TypeRequest, wire.UpdateUnclaim, "request.unclaim", true, false, false},
	{wire.TypeRequest, wire.QueryStatus, "request.status.query", false, false, true},
	{wire.TypeRequest, wire.QueryLog, "request.log.query", false, false, true},
	{wire.TypeProducer, wire.UpdateAdd, "producer.add", true, false, false},
	{wire.TypeProducer, wire.UpdateFlush, "producer.flush", true, false, false},
	{wire.TypeThroughput, wire.UpdateLease, "throughput.lease", true, false, false},
	{wire.TypeThroughput, wire.UpdateRelease, "throughput.release", true, false, false},
	{wire.TypeThroughput, wire.UpdatePause, "throughput.pause", true, true, false},
	{wire.TypeThroughput, wire.UpdateUnpause, "throughput.unpause", true, true, false},
	{wire.TypeThroughput, wire.UpdateSet, "throughput.set", true, false, false},
	{wire.TypeQuiescence, wire.UpdateTune, "quiescence.tune", true, false, false},
	{wire.TypeQuiescence, wire.UpdateFinish, "quiescence.finish", true, false, false},
	{wire.TypeQuiescence, wire.UpdateStop, "quiescence.stop", true, false, false},
	{wire.TypeQuiescence, wire.SignalObserved, "quiescence.observed", false, true, false},
	{wire.TypeCountObjects, wire.UpdateDrain, "count.drain", true, false, false},
	{wire.TypeClaimTasks, wire.UpdateCapacity, "claim.capacity", true, false, false},
	{wire.TypeClaimTasks, wire.UpdateDrain, "claim.drain", true, false, false},
}

// target is the workflow that gets a sender's messages of a type; one that has ended
// is replaced.
func (s *sender) target(ctx context.Context, kind string) (string, error) {
	if id := s.targets[kind]; id != "" {
		return id, nil
	}
	value := func(name string) string { return s.known[name][0] }
	inputs := map[string]string{
		wire.TypeRequest:      `{"jobs":[{"id":"a","activity":"Nobody.Runs","taskQueue":"nobody-polls"}]}`,
		wire.TypeProducer:     `{"stream":` + value("stream") + `}`,
		wire.TypeThroughput:   `{"resource":` + value("resource") + `,"unitsPerSecond":10}`,
		wire.TypeQuiescence:   `{"source":{"signal":{}}}`,
		wire.TypeCountObjects: `{"queueUrl":` + value("queueUrl") + `,"table":` + value("table") + `}`,
		wire.TypeClaimTasks:   `{"queues":[{"name":` + value("queue") + `}]}`,
	}
	run, err := s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "target/" + s.id(), TaskQueue: s.TaskQueue}, kind, raw([]byte(inputs[kind])))
	if err != nil {
		return "", err
	}
	s.targets[kind] = run.GetID()
	return run.GetID(), nil
}

// messageAny sends a message, and again to another workflow where that had ended.
func (s *sender) messageAny() {
	m := messages[s.IntN(len(messages))]
	doc := s.Document(s.schemas[m.schema].shape)
	signal := m.signal && (!m.update || s.IntN(2) == 0)
	ctx, cancel := context.WithTimeout(s.t.Context(), 90*time.Second)
	defer cancel()
	for {
		id, err := s.target(ctx, m.workflow)
		if err != nil {
			s.tally.fault("start of a target: %v", err)
			return
		}
		switch {
		case signal:
			err = s.signal(ctx, id, m.name, doc)
		case m.query:
			err = s.query(ctx, id, m.name, doc)
		default:
			err = s.update(ctx, id, m.name, doc)
		}
		var ended *serviceerror.NotFound
		if errors.As(err, &ended) || err != nil && strings.Contains(err.Error(), "CompletedWorkflow") {
			delete(s.targets, m.workflow)
			continue
		}
		var tooLarge *serviceerror.InvalidArgument
		switch {
		case len(doc) > 1<<20 && errors.As(err, &tooLarge):
			s.tally.add("too large for Temporal")
		case signal && err == nil:
			s.tally.add("signalled")
		default:
			s.judge(m.workflow+" "+m.name, m.schema, doc, err)
		}
		return
	}
}

func (s *sender) update(ctx context.Context, id, name string, doc []byte) error {
	handle, err := s.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: name, Args: []any{raw(doc)}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// signal sends a signal, and then sees that the workflow still answers.
func (s *sender) signal(ctx context.Context, id, name string, doc []byte) error {
	if err := s.Client.SignalWorkflow(ctx, id, "", name, raw(doc)); err != nil {
		return err
	}
	_, err := s.Client.QueryWorkflow(ctx, id, "", wire.QueryStatus)
	return err
}

// typed is how the text of a query's error tells its type.
var typed = regexp.MustCompile(`\(type: (\w+), retryable`)

func (s *sender) query(ctx context.Context, id, name string, doc []byte) error {
	answer, err := s.Client.QueryWorkflow(ctx, id, "", name, raw(doc))
	var failed *serviceerror.QueryFailed
	if errors.As(err, &failed) {
		if told := typed.FindStringSubmatch(failed.Message); told != nil {
			return temporal.NewApplicationError(failed.Message, told[1])
		}
	}
	if err != nil {
		return err
	}
	var shown converter.RawValue
	return answer.Get(&shown)
}
