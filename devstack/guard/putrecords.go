package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"sluice/devstack/guard/rules"
)

// upstreamBytes is what one request to kinesalite may hold; it refuses 7 MiB.
const upstreamBytes = 6 << 20

// A result is what became of one record.
type result struct {
	SequenceNumber string `json:"SequenceNumber,omitempty"`
	ShardID        string `json:"ShardId,omitempty"`
	ErrorCode      string `json:"ErrorCode,omitempty"`
	ErrorMessage   string `json:"ErrorMessage,omitempty"`
}

// putRecords passes on those records whose shards have room.
func (k *kinesis) putRecords(ctx context.Context, c *call) (*answer, error) {
	limits := k.limits.get().Kinesis
	if limits.off() && len(c.body) < upstreamBytes && len(c.faults.Entries) == 0 {
		return k.to.send(ctx, c, c.body)
	}
	var in struct{ Records []json.RawMessage }
	if err := json.Unmarshal(c.body, &in); err != nil {
		return k.to.send(ctx, c, c.body)
	}
	records := make([]record, len(in.Records))
	total := 0
	for i, raw := range in.Records {
		var err error
		if records[i], err = readRecord(raw); err != nil {
			return k.to.send(ctx, c, c.body) // kinesalite says what is wrong
		}
		total += records[i].size()
	}
	if message := limits.refusal(records, total); message != "" {
		c.count(Count{RecordsRefused: len(records)})
		return k.refuse(c, http.StatusBadRequest, "InvalidArgumentException", message), nil
	}
	stream, err := k.streams.get(ctx, c.target)
	if err != nil {
		return nil, err
	}
	results, going := k.admit(c, stream, records, limits)
	return k.store(ctx, c, in.Records, results, going)
}

func (l KinesisLimits) off() bool {
	return l.RecordsPerSecond < 0 && l.BytesPerSecond < 0 && l.RequestBytes < 0 && l.RecordBytes < 0
}

// refusal says why the request as a whole is refused.
func (l KinesisLimits) refusal(records []record, total int) string {
	if l.RequestRecords > 0 && len(records) > l.RequestRecords {
		return "1 validation error detected: Value at 'records' failed to satisfy constraint: Member must have length less than or equal to " + strconv.Itoa(l.RequestRecords)
	}
	for _, r := range records {
		if l.RecordBytes > 0 && r.size() > l.RecordBytes {
			return "Record size of " + strconv.Itoa(r.size()) + " bytes exceeds the limit of " + strconv.Itoa(l.RecordBytes) + " bytes"
		}
	}
	if l.RequestBytes > 0 && total > l.RequestBytes {
		return "Records size exceeds " + strconv.Itoa(l.RequestBytes) + " bytes limit"
	}
	return ""
}

// admit judges each record and answers the positions of those that go on.
func (k *kinesis) admit(c *call, stream *stream, records []record, limits KinesisLimits) (results []result, going []int) {
	results = make([]result, len(records))
	throttled := 0
	for i, r := range records {
		if fault, hit := c.faults.entryFor(i, stream, r); hit {
			results[i] = fault
			continue
		}
		if shard, full := stream.admit(r, limits); full {
			throttled = 1
			results[i] = result{ErrorCode: throughputExceeded, ErrorMessage: rateExceeded(shard, c.target)}
			continue
		}
		going = append(going, i)
	}
	c.count(Count{Throttled: throttled, RecordsRefused: len(records) - len(going)})
	return results, going
}

// entryFor answers the failure that a fault has for a record.
func (p *plan) entryFor(index int, stream *stream, r record) (result, bool) {
	if len(p.Entries) == 0 {
		return result{}, false
	}
	var shard rules.Shard
	if stream != nil {
		shard, _ = stream.shards.Find(rules.HashOf(r.PartitionKey, r.ExplicitHashKey))
	}
	for _, e := range p.Entries {
		if !e.matches(index, shard.ID, r.PartitionKey) {
			continue
		}
		code := e.Code
		if code == "" {
			code = "InternalFailure"
		}
		message := e.Message
		if message == "" {
			message = "injected by the dev stack"
		}
		return result{ErrorCode: code, ErrorMessage: message}, true
	}
	return result{}, false
}

// store sends what goes on, in requests that kinesalite takes and in order, and
// puts its answers in their places.
func (k *kinesis) store(ctx context.Context, c *call, raw []json.RawMessage, results []result, going []int) (*answer, error) {
	if len(going) == len(raw) && len(c.body) < upstreamBytes {
		return k.storeWhole(ctx, c, len(raw))
	}
	in, err := parse(c.body)
	if err != nil {
		return nil, err
	}
	out := doc{}
	for start := 0; start < len(going); {
		end, part := start, []json.RawMessage(nil)
		for size := 0; end < len(going) && (size == 0 || size+len(raw[going[end]]) < upstreamBytes); end++ {
			part = append(part, raw[going[end]])
			size += len(raw[going[end]]) + 1
		}
		answered, failure, err := k.storePart(ctx, c, in, part)
		if err != nil {
			return nil, err
		}
		if failure != nil && start == 0 {
			return failure, nil
		}
		for i, position := range going[start:end] {
			results[position] = answered.at(i)
		}
		if answered.EncryptionType != "" {
			out.set("EncryptionType", answered.EncryptionType)
		}
		start = end
	}
	failed := 0
	for _, r := range results {
		if r.ErrorCode != "" {
			failed++
		}
	}
	out.set("Records", results)
	out.set("FailedRecordCount", failed)
	c.count(Count{Records: len(going)})
	return jsonAnswer(kinesisContent, http.StatusOK, encode(out)), nil
}

// storeWhole passes the request on as it came.
func (k *kinesis) storeWhole(ctx context.Context, c *call, records int) (*answer, error) {
	a, err := k.to.send(ctx, c, c.body)
	if err == nil && a.status == http.StatusOK {
		c.count(Count{Records: records})
	}
	return a, err
}

type stored struct {
	Records        []result
	EncryptionType string
}

// at is the result of a record; one that a later part lost is a failure of the
// service, since earlier parts are stored.
func (s stored) at(i int) result {
	if i < len(s.Records) {
		return s.Records[i]
	}
	return result{ErrorCode: "InternalFailure", ErrorMessage: "Internal service failure."}
}

func (k *kinesis) storePart(ctx context.Context, c *call, in doc, part []json.RawMessage) (stored, *answer, error) {
	in["Records"] = join(part)
	a, err := k.to.send(ctx, c, encodeRaw(in))
	if err != nil {
		return stored{}, nil, err
	}
	text, err := a.whole()
	if err != nil || a.status != http.StatusOK {
		return stored{}, a, err
	}
	var s stored
	err = json.Unmarshal(text, &s)
	return s, nil, err
}

// join makes a JSON list without looking into its elements again.
func join(elements []json.RawMessage) json.RawMessage {
	list := make([][]byte, len(elements))
	for i, e := range elements {
		list[i] = e
	}
	return append(append([]byte("["), bytes.Join(list, []byte(","))...), ']')
}

// encodeRaw writes an object of values that are known to be JSON.
func encodeRaw(d doc) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for name, value := range d {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(encode(name))
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// A record is what the limits look at of one.
type record struct {
	Data            json.RawMessage // base64 in quotes
	PartitionKey    string
	ExplicitHashKey string
}

func readRecord(raw []byte) (record, error) {
	var r record
	err := json.Unmarshal(raw, &r)
	return r, err
}

// size is what counts against the limits: data and partition key.
func (r record) size() int {
	n := len(r.Data) - 2 // the quotes
	if n < 0 {
		return len(r.PartitionKey)
	}
	data := n / 4 * 3
	for i := len(r.Data) - 2; i > 0 && r.Data[i] == '='; i-- {
		data--
	}
	return data + len(r.PartitionKey)
}

// quickName reads StreamName when it is the last member of a body, as the Go SDK
// writes it, or the first, without reading the records between.
func quickName(body []byte) (string, bool) {
	const member = `"StreamName":"`
	at := -1
	switch {
	case bytes.HasPrefix(body, []byte("{"+member)):
		at = 1
	case bytes.HasSuffix(body, []byte(`"}`)):
		if at = bytes.LastIndex(body[max(0, len(body)-len(member)-130):], []byte(","+member)); at >= 0 {
			at += max(0, len(body)-len(member)-130) + 1
		}
	}
	if at < 0 {
		return "", false
	}
	name, _, found := strings.Cut(string(body[at+len(member):min(len(body), at+len(member)+130)]), `"`)
	return name, found && !strings.Contains(name, `\`)
}
