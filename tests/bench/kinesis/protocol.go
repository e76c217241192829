package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A protocol is how requests and answers are written in one protocol.
type protocol struct {
	// next is the size of the next record, its key, and the body behind it.
	next                    func(body []byte) (size int, key, rest []byte, ok bool)
	begin, between, refused string
	stored                  [2]string // before and behind the shard's name
	end                     func(answer []byte, failed int) []byte
}

const (
	anyNumber = "49590338271490256608559692538361571095921575989136588898"
	refusal   = "ProvisionedThroughputExceededException"
	because   = "Rate exceeded for shard."
)

// protocols are the protocols by content type.
var protocols = map[string]protocol{
	"application/x-amz-json-1.1": {
		next:  nextJSON,
		begin: `{"Records":[`, between: ",",
		refused: `{"ErrorCode":"` + refusal + `","ErrorMessage":"` + because + `"}`,
		stored:  [2]string{`{"SequenceNumber":"` + anyNumber + `","ShardId":"`, `"}`},
		end: func(answer []byte, failed int) []byte {
			return fmt.Appendf(answer, `],"FailedRecordCount":%d}`, failed)
		},
	},
	"application/x-amz-cbor-1.1": {
		next: nextCBOR,
		// Maps and lists without a length, as the service writes them.
		begin:   "\xbf" + cborText("Records") + "\x9f",
		refused: "\xbf" + cborText("ErrorCode") + cborText(refusal) + cborText("ErrorMessage") + cborText(because) + "\xff",
		stored: [2]string{"\xbf" + cborText("SequenceNumber") + cborText(anyNumber) + cborText("ShardId") +
			string(cborHead(nil, 3<<5, len(shardName(0)))), "\xff"},
		end: func(answer []byte, failed int) []byte {
			answer = append(append(answer, 0xff), cborText("FailedRecordCount")...)
			return append(cborHead(answer, 0, failed), 0xff)
		},
	},
}

func cborText(s string) string { return string(cborHead(nil, 3<<5, len(s))) + s }

func nextJSON(body []byte) (size int, key, rest []byte, ok bool) {
	data, rest, ok := field(body, `"Data":"`)
	if !ok {
		return 0, nil, nil, false
	}
	if key, rest, ok = field(rest, `"PartitionKey":"`); !ok {
		return 0, nil, nil, false
	}
	return len(data)/4*3 - bytes.Count(data[max(0, len(data)-2):], []byte("=")) + len(key), key, rest, true
}

// field is the text of the next string field of that name.
func field(body []byte, name string) (text, rest []byte, ok bool) {
	i := bytes.Index(body, []byte(name))
	if i < 0 {
		return nil, nil, false
	}
	body = body[i+len(name):]
	end := bytes.IndexByte(body, '"')
	return body[:end], body[end:], true
}

func nextCBOR(body []byte) (size int, key, rest []byte, ok bool) {
	data, rest, ok := cborField(body, cborText("Data"))
	if !ok {
		return 0, nil, nil, false
	}
	if key, rest, ok = cborField(rest, cborText("PartitionKey")); !ok {
		return 0, nil, nil, false
	}
	return len(data) + len(key), key, rest, true
}

// cborField is the string behind the next field of that name.
func cborField(body []byte, name string) (value, rest []byte, ok bool) {
	i := bytes.Index(body, []byte(name))
	if i < 0 {
		return nil, nil, false
	}
	body = body[i+len(name):]
	n := int(body[0] & 0x1f)
	switch body = body[1:]; n {
	case 24:
		n, body = int(body[0]), body[1:]
	case 25:
		n, body = int(binary.BigEndian.Uint16(body)), body[2:]
	case 26:
		n, body = int(binary.BigEndian.Uint32(body)), body[4:]
	}
	return body[:n], body[n:], true
}
