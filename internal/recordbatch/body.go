package recordbatch

import (
	"encoding/base64"
	"encoding/json"
)

// AppendBody appends the body of the PutRecords request as the service's JSON
// protocol has it. Of name and arn, which name the stream, one may be empty.
func (r *Request) AppendBody(dst []byte, name, arn string) []byte {
	dst = append(dst, '{')
	if arn != "" {
		dst = append(appendString(append(dst, `"StreamARN":`...), arn), ',')
	}
	if name != "" {
		dst = append(appendString(append(dst, `"StreamName":`...), name), ',')
	}
	dst = append(dst, `"Records":[`...)
	for i, it := range r.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"Data":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, it.Data)
		dst = appendString(append(dst, `","PartitionKey":`...), it.Key)
		if it.HashKey != "" {
			dst = appendString(append(dst, `,"ExplicitHashKey":`...), it.HashKey)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// appendString appends a JSON string. The usual text has nothing to escape.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, _ := json.Marshal(s) // a string always has a JSON form
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
