package main

import (
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"sluice/activities/azurequeue"
	"sluice/activities/claiming"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// claimPoisonCmd is the group of commands on a poison queue.
type claimPoisonCmd struct {
	List   poisonListCmd   `cmd:"" help:"List what is on the poison queue of a queue."`
	Replay poisonReplayCmd `cmd:"" help:"Put poisoned messages back on the queue they came from."`
	Drop   poisonDropCmd   `cmd:"" help:"Delete poisoned messages for good."`
}

// poisonFlags says which poison queue is meant.
type poisonFlags struct {
	azureFlags
	Queue       string `arg:"" help:"The queue that tasks are claimed from."`
	PoisonQueue string `help:"Its poison queue, where it is not QUEUE-poison."`
}

// poisonChoice says which of its messages are meant.
type poisonChoice struct {
	ID  []string `help:"IDs of the messages, as list shows them." xor:"which" sep:","`
	All bool     `help:"All messages." xor:"which"`
}

func (c poisonChoice) check() error {
	if len(c.ID) == 0 && !c.All {
		return usage("say which: --id or --all")
	}
	return nil
}

func (c poisonChoice) has(id string) bool { return c.All || slices.Contains(c.ID, id) }

// poisonHold is how long messages are taken off the queue to be looked at. They
// are given back at the end, and come back by themselves if that is not reached.
const poisonHold = 2 * time.Minute

// poisonMessage is a message of the poison queue, with all its copies.
type poisonMessage struct {
	taskmessage.Record
	Task   string           `json:"task,omitempty"` // workflow ID of the task, where the body can be read
	Copies int              `json:"copies"`         // of the same message; a crash may leave more than one
	held   []azqueueMessage // not JSON
	broken error            // not a record of ours
}

type azqueueMessage struct{ id, receipt, text string }

// take takes every message off the poison queue for a while, grouped by the ID of
// the original.
func (f poisonFlags) take(a *app) (*azqueue.QueueClient, []*poisonMessage, error) {
	name := claiming.PoisonQueue(f.PoisonQueue, f.Queue)
	queue, err := f.queue(a, name)
	if err != nil {
		return nil, nil, err
	}
	var all []*poisonMessage
	byID := map[string]*poisonMessage{}
	for {
		got, err := queue.DequeueMessages(a.ctx, &azqueue.DequeueMessagesOptions{
			NumberOfMessages: to.Ptr(int32(32)), VisibilityTimeout: to.Ptr(int32(poisonHold / time.Second))})
		if queueerror.HasCode(err, queueerror.QueueNotFound) {
			return queue, all, nil // it is made with the first poison
		}
		if err != nil {
			return nil, nil, azurequeue.Failure("AzureQueue.Receive", name, err)
		}
		if len(got.Messages) == 0 {
			return queue, all, nil
		}
		for _, m := range got.Messages {
			if m.MessageID == nil || m.PopReceipt == nil || m.MessageText == nil {
				continue
			}
			p := readPoison(*m.MessageID, *m.MessageText)
			if first := byID[p.MessageID]; first != nil {
				p = first
			} else {
				byID[p.MessageID] = p
				all = append(all, p)
			}
			p.Copies++
			p.held = append(p.held, azqueueMessage{*m.MessageID, *m.PopReceipt, *m.MessageText})
		}
	}
}

// readPoison reads a record; what is none is shown as it is, under its own ID.
func readPoison(id, text string) *poisonMessage {
	record, err := taskmessage.Unwrap(text)
	if err != nil {
		return &poisonMessage{Record: taskmessage.Record{MessageID: id, Reason: err.Error(), Body: text, BodyBytes: len(text)}, broken: err}
	}
	p := &poisonMessage{Record: record}
	if original, err := record.Original(); err == nil {
		if m, err := taskmessage.Decode(original); err == nil {
			p.Task = wire.TaskID(m.TaskID, m.RunID)
		}
	}
	return p
}

// giveBack makes messages visible again.
func giveBack(a *app, queue *azqueue.QueueClient, p *poisonMessage) {
	for _, m := range p.held {
		// One that can't be given back comes back by itself.
		_, _ = queue.UpdateMessage(a.ctx, m.id, m.receipt, m.text, &azqueue.UpdateMessageOptions{VisibilityTimeout: to.Ptr(int32(0))})
	}
}

// remove deletes all copies of a message.
func remove(a *app, queue *azqueue.QueueClient, p *poisonMessage) error {
	for _, m := range p.held {
		if _, err := queue.DeleteMessage(a.ctx, m.id, m.receipt, nil); err != nil {
			return azurequeue.Failure("AzureQueue.Delete", p.MessageID, err)
		}
	}
	return nil
}

type poisonListCmd struct {
	poisonFlags
	tableFlag
}

func (l poisonListCmd) Run(a *app) error {
	queue, all, err := l.take(a)
	if err != nil {
		return err
	}
	for _, p := range all {
		giveBack(a, queue, p)
	}
	if all == nil {
		all = []*poisonMessage{}
	}
	return a.rows(l.tableFlag, map[string]any{"queue": claiming.PoisonQueue(l.PoisonQueue, l.Queue), "count": len(all), "messages": all})
}

// poisonFailure is a message with which a command did not get through.
type poisonFailure struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// work calls f for each chosen message and prints which were done.
func (f poisonFlags) work(a *app, choice poisonChoice, word string, do func(*azqueue.QueueClient, *poisonMessage) error) error {
	if err := choice.check(); err != nil {
		return err
	}
	queue, all, err := f.take(a)
	if err != nil {
		return err
	}
	done, failures := []string{}, []poisonFailure{}
	found := map[string]bool{}
	for _, p := range all {
		found[p.MessageID] = true
		if !choice.has(p.MessageID) {
			giveBack(a, queue, p)
			continue
		}
		if err := do(queue, p); err != nil {
			failures = append(failures, poisonFailure{p.MessageID, err.Error()})
			giveBack(a, queue, p)
			continue
		}
		done = append(done, p.MessageID)
	}
	for _, id := range choice.ID {
		if !found[id] {
			failures = append(failures, poisonFailure{id, "not on the poison queue"})
		}
	}
	if err := a.result(map[string]any{word: done, "failed": failures}); err != nil {
		return err
	}
	if len(failures) > 0 {
		return failed("%s failed", counted(len(failures), "message"))
	}
	return nil
}

type poisonReplayCmd struct {
	poisonFlags
	poisonChoice
	To string `help:"Another queue to put them on."`
}

// Run puts a message on the queue first and deletes its record then: between the
// two it is on both, never on none.
func (r poisonReplayCmd) Run(a *app) error {
	return r.work(a, r.poisonChoice, "replayed", func(queue *azqueue.QueueClient, p *poisonMessage) error {
		if p.broken != nil {
			return p.broken
		}
		text, err := p.Replayable()
		if err != nil {
			return err
		}
		name := p.Record.Queue
		if r.To != "" {
			name = r.To
		}
		target, err := r.queue(a, name)
		if err != nil {
			return err
		}
		if _, err := target.EnqueueMessage(a.ctx, text, &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(int32(-1))}); err != nil {
			return azurequeue.Failure(wire.AzureQueueSend, name, err)
		}
		return remove(a, queue, p)
	})
}

type poisonDropCmd struct {
	poisonFlags
	poisonChoice
}

func (d poisonDropCmd) Run(a *app) error {
	return d.work(a, d.poisonChoice, "dropped", func(queue *azqueue.QueueClient, p *poisonMessage) error { return remove(a, queue, p) })
}
