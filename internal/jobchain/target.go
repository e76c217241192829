package jobchain

import "encoding/json"

// mostLooked bounds the jobs whose inputs are looked at for what a request works on.
const mostLooked = 20

// longestTarget bounds the value of a search attribute, in bytes.
const longestTarget = 255

// named are the fields by which inputs name a table, a stream, a bucket or a queue.
type named struct {
	TableName  any `json:"TableName"`
	StreamName any `json:"StreamName"`
	Bucket     any `json:"bucket"`
	Queue      any `json:"queue"`
	QueueURL   any `json:"queueUrl"`
}

// Target is the table, stream, bucket or queue that the request works on: the first
// that its jobs' inputs name, else its args; "" where none is named.
func (d *Document) Target() string {
	for i := range d.Jobs[:min(len(d.Jobs), mostLooked)] {
		if target := targetIn(d.Jobs[i].Input); target != "" {
			return target
		}
	}
	return targetIn(d.Args)
}

func targetIn(input json.RawMessage) string {
	var in named
	if len(input) > MaxCarried/mostLooked || json.Unmarshal(input, &in) != nil {
		return "" // too large to be worth the look, or no object
	}
	for _, value := range []any{in.TableName, in.StreamName, in.Bucket, in.Queue, in.QueueURL} {
		if name, ok := value.(string); ok && name != "" && len(name) <= longestTarget {
			return name
		}
	}
	return ""
}
