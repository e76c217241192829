// Package recordbatchtest reads what a stream holds, for tests: by other code than
// that which wrote it.
package recordbatchtest

import (
	"bytes"
	"crypto/md5"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// A Record is one that was aggregated.
type Record struct {
	Data         []byte
	Key, HashKey string
}

// IsAggregate says that a stream's record holds others.
func IsAggregate(data []byte) bool { return bytes.HasPrefix(data, []byte{0xf3, 0x89, 0x9a, 0xc2}) }

// Deaggregate reads the Kinesis Producer Library's record format by its
// published description, with a general decoder of protocol buffers.
func Deaggregate(t require.TestingT, data []byte) (records []Record) {
	require.True(t, bytes.HasPrefix(data, []byte{0xf3, 0x89, 0x9a, 0xc2}))
	message, sum := data[4:len(data)-16], md5.Sum(data[4:len(data)-16])
	require.Equal(t, sum[:], data[len(data)-16:])
	var keys, hashKeys []string
	eachField(t, message, func(number protowire.Number, _ uint64, value []byte) {
		switch number {
		case 1:
			keys = append(keys, string(value))
		case 2:
			hashKeys = append(hashKeys, string(value))
		case 3:
			var r Record
			eachField(t, value, func(number protowire.Number, n uint64, value []byte) {
				switch number {
				case 1:
					r.Key = keys[n]
				case 2:
					r.HashKey = hashKeys[n]
				case 3:
					r.Data = value
				}
			})
			records = append(records, r)
		}
	})
	return records
}

func eachField(t require.TestingT, message []byte, field func(number protowire.Number, n uint64, value []byte)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		require.Positive(t, n)
		message = message[n:]
		if kind == protowire.VarintType {
			v, n := protowire.ConsumeVarint(message)
			require.Positive(t, n)
			field(number, v, nil)
			message = message[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(message)
		require.Positive(t, n)
		field(number, 0, v)
		message = message[n:]
	}
}
