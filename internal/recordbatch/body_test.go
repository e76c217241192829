package recordbatch

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestBodyIsTheServicesJSON: a JSON decoder reads from a body what was put in.
func TestBodyIsTheServicesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Request
		var want []Record
		for range rapid.IntRange(0, 5).Draw(t, "records") {
			record := Record{Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"), Key: rapid.String().Draw(t, "key")}
			if rapid.Bool().Draw(t, "explicit") {
				record.HashKey = rapid.StringMatching(`[0-9]{1,20}`).Draw(t, "hash key")
			}
			want = append(want, record)
			r.Items = append(r.Items, Item{Record: &record})
		}
		name, arn := rapid.String().Draw(t, "name"), rapid.SampledFrom([]string{"", "arn:aws:x"}).Draw(t, "arn")
		requireBody(t, json.Unmarshal, new(Encoder).AppendJSON(nil, &r, name, arn), name, arn, want)
	})
}

// requireBody decodes a body by another's decoder and compares what it holds.
func requireBody(t require.TestingT, decode func([]byte, any) error, body []byte, name, arn string, want []Record) {
	var got struct {
		StreamName, StreamARN string
		Records               []struct {
			Data                          []byte
			PartitionKey, ExplicitHashKey string
		}
	}
	require.NoError(t, decode(body, &got))
	require.Equal(t, name, got.StreamName)
	require.Equal(t, arn, got.StreamARN)
	require.Len(t, got.Records, len(want))
	for i, g := range got.Records {
		require.Equal(t, string(want[i].Data), string(g.Data))
		require.Equal(t, want[i].Key, g.PartitionKey)
		require.Equal(t, want[i].HashKey, g.ExplicitHashKey)
	}
}

func FuzzBase64(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(func(t *testing.T, data []byte) {
		require.Equal(t, "x"+base64.StdEncoding.EncodeToString(data), string(appendBase64([]byte("x"), data)))
	})
}

func BenchmarkBase64(b *testing.B) {
	data, dst := make([]byte, 200), make([]byte, 0, 300)
	b.SetBytes(200)
	for b.Loop() {
		dst = appendBase64(dst[:0], data)
	}
}
