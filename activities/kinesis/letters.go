package kinesis

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"sluice/activities"
)

const (
	lettersTogether = 1000    // failed records in one object
	lettersBytes    = 4 << 20 // and their data, before they are written ahead of the end
	// messageBytes is what SQS takes at most; a larger record goes without its data.
	messageBytes = 256 << 10
)

// deadRecord is a failed record as it is kept: a line of an object, or a message.
type deadRecord struct {
	Stream string `json:"StreamName"`
	FailedRecord
	Data            []byte `json:"Data"`
	DataOmitted     int    `json:"DataOmitted,omitempty"` // its bytes, where they are too many for a message
	PartitionKey    string `json:"PartitionKey"`
	ExplicitHashKey string `json:"ExplicitHashKey,omitempty"`
	Source          string `json:"Source,omitempty"` // the object it comes from
}

// due says that enough failed records have come together to be written.
func (c *putCall) lettersDue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes := 0
	for i := range c.pending {
		bytes += len(c.pending[i].Data)
	}
	return len(c.pending) >= lettersTogether || bytes >= lettersBytes
}

// writeLetters writes the failed records that have come together, and makes
// their failure final. A repeat after a lost attempt may write some twice.
func (k *Activities) writeLetters(ctx context.Context, to Destination, call *putCall, source ...string) error {
	for {
		call.mu.Lock()
		batch := call.pending[:min(len(call.pending), lettersTogether):min(len(call.pending), lettersTogether)]
		call.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		if err := k.writeBatch(ctx, to, batch, source); err != nil {
			return err
		}
		call.mu.Lock()
		for i := range batch {
			call.fail(batch[i].FailedRecord)
		}
		call.pending = call.pending[len(batch):]
		call.mu.Unlock()
	}
}

func (k *Activities) writeBatch(ctx context.Context, to Destination, batch []letter, source []string) error {
	var lines bytes.Buffer
	for i := range batch {
		d := deadRecord{Stream: to.stream().String(), FailedRecord: batch[i].FailedRecord, Data: batch[i].Data,
			PartitionKey: batch[i].Key, ExplicitHashKey: batch[i].HashKey}
		if len(source) > 0 {
			d.Source = source[0]
		}
		text, err := json.Marshal(d)
		if err != nil {
			return activities.Invalid("Kinesis.DeadLetter", err)
		}
		if to.DeadLetter.QueueURL == "" {
			lines.Write(append(text, '\n'))
			continue
		}
		if len(text) > messageBytes {
			d.DataOmitted, d.Data = len(d.Data), nil
			if text, err = json.Marshal(d); err != nil {
				return activities.Invalid("Kinesis.DeadLetter", err)
			}
		}
		if err := k.Letters.SendMessage(ctx, to.DeadLetter.QueueURL, string(text)); err != nil {
			return err
		}
	}
	if to.DeadLetter.QueueURL != "" {
		return nil
	}
	return k.Letters.WriteObject(ctx, to.DeadLetter.Bucket, letterKey(ctx, to, batch), lines.Bytes())
}

// letterKey names the object after the activity and its first record, so that
// a repeat writes over what an earlier attempt wrote.
func letterKey(ctx context.Context, to Destination, batch []letter) string {
	return fmt.Sprintf("%s%s/%s/%010d.jsonl", to.DeadLetter.Prefix, to.stream(), activities.IdempotencyKey(ctx), batch[0].Index)
}
