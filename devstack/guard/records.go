package guard

import (
	"bytes"
	"encoding/json"
	"strings"
)

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
