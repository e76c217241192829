package recordbatch

import (
	"fmt"
	"unicode/utf8"
)

// What the service takes, as its API reference has it.
const (
	// MaxRequestRecords is the most records that one PutRecords takes.
	MaxRequestRecords = 500
	// MaxRequestBytes is the most that one PutRecords takes, keys included.
	MaxRequestBytes = 10 << 20
	// MaxRecordBytes is the most a record may be made to hold on a stream.
	MaxRecordBytes = 10 << 20
	// MaxKeyCharacters bounds a partition key, in Unicode characters.
	MaxKeyCharacters = 256
)

// Codes of records that are set aside before anything is sent.
const (
	CodeRecordTooLarge = "RecordTooLarge"
	CodeBadKey         = "InvalidPartitionKey"
	CodeBadHashKey     = "InvalidExplicitHashKey"
)

// A Record is one record as the stream will hold it.
type Record struct {
	Data []byte
	// Key is the partition key; its MD5 chooses the shard.
	Key string
	// HashKey, where it is not empty, chooses the shard instead: a decimal
	// number of 0 to 2^128-1.
	HashKey string
}

// Size is what the service counts for the record: raw data and the key's UTF-8
// bytes.
func (r *Record) Size() int { return len(r.Data) + len(r.Key) }

// Limits bound records and requests.
type Limits struct {
	// Records is the most records in a request, 1 to 500.
	Records int
	// RequestBytes and RecordBytes count raw data and keys, at most 10 MiB.
	RequestBytes int
	RecordBytes  int
}

// A Fault says why a record can't be sent.
type Fault struct{ Code, Message string }

// Check tells what is wrong with a record, or nil.
func (l Limits) Check(r *Record) *Fault {
	if size := r.Size(); size > l.RecordBytes {
		return &Fault{CodeRecordTooLarge,
			fmt.Sprintf("the record has %d bytes with its key, the limit is %d", size, l.RecordBytes)}
	}
	if !utf8.ValidString(r.Key) {
		return &Fault{CodeBadKey, "the partition key is not valid UTF-8"}
	}
	// A key of at most 256 bytes has at most 256 characters.
	if r.Key == "" || len(r.Key) > MaxKeyCharacters && utf8.RuneCountInString(r.Key) > MaxKeyCharacters {
		return &Fault{CodeBadKey, fmt.Sprintf("the partition key has %d characters, it must have 1 to %d",
			utf8.RuneCountInString(r.Key), MaxKeyCharacters)}
	}
	if r.HashKey != "" {
		if _, err := ParseHashKey(r.HashKey); err != nil {
			return &Fault{CodeBadHashKey, err.Error()}
		}
	}
	return nil
}
