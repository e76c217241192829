package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"sluice/activities"
	"sluice/activities/azurequeue"
	"sluice/internal/connect"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// azureFlags is the access to Azure queues, for commands that speak to them.
type azureFlags struct {
	Azure connect.AzureConfig `embed:"" prefix:"azure-storage-"`
}

func (f azureFlags) queue(a *app, name string) (*azqueue.QueueClient, error) {
	if err := a.noEquivalent(); err != nil {
		return nil, err
	}
	if err := taskmessage.CheckQueueName(name); err != nil {
		return nil, usage("%v", err)
	}
	service, err := connect.AzureQueues(f.Azure)
	if err != nil {
		return nil, usage("%v", err)
	}
	return service.NewQueueClient(name), nil
}

type claimEnqueueCmd struct {
	azureFlags
	Queue   string        `arg:"" help:"The Azure queue."`
	File    string        `short:"f" help:"Messages: a JSON object each, one after the other or in a list; - is standard input." placeholder:"FILE"`
	TaskID  string        `help:"ID of a single task." name:"task-id"`
	RunID   int64         `help:"Its run." name:"run-id"`
	Payload string        `help:"Its payload, a JSON object."`
	Delay   time.Duration `help:"Time until the messages become visible."`
	Create  bool          `help:"Create the queue where it does not exist."`
}

// enqueueParallel is how many messages are sent at once.
const enqueueParallel = 16

// Run sends nothing unless every message is sound.
func (e claimEnqueueCmd) Run(a *app) error {
	messages, err := e.messages(a)
	if err != nil {
		return err
	}
	texts, err := encodeAll(messages)
	if err != nil {
		return err
	}
	queue, err := e.queue(a, e.Queue)
	if err != nil {
		return err
	}
	if e.Create {
		if _, err := queue.Create(a.ctx, nil); err != nil {
			return azurequeue.Failure("AzureQueue.Create", e.Queue, err)
		}
	}
	sent, err := e.send(a, queue, texts)
	if resultErr := a.result(map[string]any{"queue": e.Queue, "sent": sent}); resultErr != nil {
		return resultErr
	}
	err = azurequeue.Failure(wire.AzureQueueSend, e.Queue, err)
	if activities.TypeOf(err) == activities.TypeNotFound {
		return failed("%s; --create makes the queue", describe(err))
	}
	return err
}

// messages reads the file, or makes one message of the flags.
func (e claimEnqueueCmd) messages(a *app) ([]json.RawMessage, error) {
	switch {
	case e.File != "" && e.TaskID != "":
		return nil, usage("give -f or --task-id, not both")
	case e.TaskID != "":
		message := map[string]any{"taskId": e.TaskID, "runId": e.RunID}
		if e.Payload != "" {
			if !json.Valid([]byte(e.Payload)) {
				return nil, usage("--payload is not JSON")
			}
			message["payload"] = json.RawMessage(e.Payload)
		}
		raw, err := json.Marshal(message)
		return []json.RawMessage{raw}, err
	case e.File != "":
		raw, err := a.readFile(e.File)
		if err != nil {
			return nil, err
		}
		return splitMessages(raw)
	default:
		return nil, usage("give -f FILE or --task-id")
	}
}

// splitMessages reads a list of JSON objects, or objects one after the other.
func splitMessages(raw []byte) ([]json.RawMessage, error) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\uFEFF")))
	if len(raw) > 0 && raw[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, usage("not a JSON list: %v", err)
		}
		return list, nil
	}
	var all []json.RawMessage
	decoder := json.NewDecoder(bufio.NewReader(bytes.NewReader(raw)))
	for decoder.More() {
		var one json.RawMessage
		if err := decoder.Decode(&one); err != nil {
			return nil, usage("message %d: not JSON: %v", len(all)+1, err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, usage("no message")
	}
	return all, nil
}

// encodeAll checks every message, as a claimer will, and tells all faults.
func encodeAll(messages []json.RawMessage) ([]string, error) {
	texts := make([]string, len(messages))
	var faults []string
	for i, m := range messages {
		_, err := taskmessage.Decode(string(m))
		if err == nil {
			texts[i], err = taskmessage.Encode(m)
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("message %d: %v", i+1, err))
		}
	}
	if len(faults) > 0 {
		return nil, usage("%s", strings.Join(faults, "\n"))
	}
	return texts, nil
}

// send puts the texts on the queue, several at once, until one fails.
func (e claimEnqueueCmd) send(a *app, queue *azqueue.QueueClient, texts []string) (int64, error) {
	var sent, next atomic.Int64
	var once sync.Once
	var failure error
	var sending sync.WaitGroup
	var stop atomic.Bool
	for range min(enqueueParallel, len(texts)) {
		sending.Add(1)
		go func() {
			defer sending.Done()
			for i := next.Add(1) - 1; i < int64(len(texts)) && !stop.Load(); i = next.Add(1) - 1 {
				_, err := queue.EnqueueMessage(a.ctx, texts[i], &azqueue.EnqueueMessageOptions{
					VisibilityTimeout: to.Ptr(int32(e.Delay / time.Second)),
					TimeToLive:        to.Ptr(int32(-1)), // until somebody takes it
				})
				if err != nil {
					once.Do(func() { failure = err })
					stop.Store(true)
					return
				}
				sent.Add(1)
			}
		}()
	}
	sending.Wait()
	return sent.Load(), failure
}
