package activities

import (
	"encoding/json"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// JSONOf is a result as JSON, whatever the language of who gave it: bytes become a
// base64 string, nothing becomes null. Other encodings have no JSON.
func JSONOf(payload *commonpb.Payload) (json.RawMessage, error) {
	switch encoding := string(payload.GetMetadata()[converter.MetadataEncoding]); {
	case payload == nil, encoding == converter.MetadataEncodingNil:
		return json.RawMessage("null"), nil
	case strings.HasPrefix(encoding, "json/") && json.Valid(payload.GetData()):
		return json.RawMessage(payload.GetData()), nil
	case encoding == converter.MetadataEncodingBinary:
		return json.Marshal(payload.GetData())
	default:
		return nil, &UnreadableError{Encoding: encoding}
	}
}

// UnreadableError is why the result of what succeeded can't be taken as JSON.
type UnreadableError struct{ Encoding string }

func (u *UnreadableError) Error() string {
	return fmt.Sprintf("the output's encoding %q is not JSON", u.Encoding)
}
