package dynamodb

import (
	"bytes"
	"encoding/json"

	"sluice/internal/throughput"
)

// withCapacity asks the service for what a call consumed, index by index. The
// rest of the document stays as it was, byte for byte, but where the caller asked
// for less than we need.
func withCapacity(document json.RawMessage, r throughput.Request) (json.RawMessage, error) {
	switch {
	case r.Control, r.Capacity == "INDEXES":
		return document, nil
	case r.Capacity == "NONE", r.Capacity == "TOTAL":
		return withField(document, "ReturnConsumedCapacity", `"INDEXES"`)
	case r.Capacity != "":
		return document, nil // for the service to refuse
	default:
		return spliced(document, `"ReturnConsumedCapacity":"INDEXES"`), nil
	}
}

// asAsked gives the caller the consumed capacity in the detail it asked for.
func asAsked(answer json.RawMessage, r throughput.Request) (json.RawMessage, error) {
	switch {
	case r.Control || (r.Capacity != "NONE" && r.Capacity != "TOTAL"):
		return answer, nil
	case r.Capacity == "NONE":
		return withField(answer, "ConsumedCapacity", "")
	}
	var told struct{ ConsumedCapacity json.RawMessage }
	if err := json.Unmarshal(answer, &told); err != nil || len(told.ConsumedCapacity) == 0 {
		return answer, err
	}
	return withField(answer, "ConsumedCapacity", string(totals(told.ConsumedCapacity)))
}

// totals leaves out the parts by table and index.
func totals(consumed json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(consumed, &list) == nil {
		for i := range list {
			list[i] = totals(list[i])
		}
		return encode(list, consumed)
	}
	var one map[string]json.RawMessage
	if json.Unmarshal(consumed, &one) != nil {
		return consumed
	}
	for _, detail := range []string{"Table", "LocalSecondaryIndexes", "GlobalSecondaryIndexes"} {
		delete(one, detail)
	}
	return encode(one, consumed)
}

func encode(v any, otherwise json.RawMessage) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return otherwise
	}
	return raw
}

// spliced adds a field at the front of an object.
func spliced(document json.RawMessage, field string) json.RawMessage {
	document = bytes.TrimSpace(document)
	rest := bytes.TrimSpace(document[1:])
	out := make([]byte, 0, len(document)+len(field)+2)
	out = append(append(out, '{'), field...)
	if rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}

// withField sets a top-level field, or takes it out where value is "". The values
// of the others stay as they are.
func withField(document json.RawMessage, field, value string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(document, &object); err != nil {
		return nil, err
	}
	if value == "" {
		delete(object, field)
	} else {
		object[field] = json.RawMessage(value)
	}
	return json.Marshal(object)
}
