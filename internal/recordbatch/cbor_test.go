package recordbatch

import (
	"maps"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func encodeCBOR(t require.TestingT, value any) []byte {
	raw, err := cbor.Marshal(value)
	require.NoError(t, err)
	return raw
}

// openCBOR writes maps, lists and texts without their lengths, as a service may that
// does not know them beforehand.
func openCBOR(dst []byte, value any) []byte {
	switch v := value.(type) {
	case map[string]any:
		dst = append(dst, 0xbf)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			dst = openCBOR(openCBOR(dst, name), v[name])
		}
		return append(dst, 0xff)
	case []map[string]any:
		dst = append(dst, 0x9f)
		for _, e := range v {
			dst = openCBOR(dst, e)
		}
		return append(dst, 0xff)
	case string:
		half := len(v) / 2
		dst = appendText(appendText(append(dst, 0x7f), v[:half]), v[half:])
		return append(dst, 0xff)
	}
	raw, err := cbor.Marshal(value)
	if err != nil {
		panic(err)
	}
	return append(dst, raw...)
}

// TestCBORBodyIsTheServices: a decoder of another's reads from a body what was put
// in, in records of all sizes.
func TestCBORBodyIsTheServices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Request
		var want []Record
		for range rapid.IntRange(0, 30).Draw(t, "records") {
			size := rapid.SampledFrom([]int{0, 1, 23, 24, 255, 256, 65535, 65536}).Draw(t, "size")
			record := Record{Data: make([]byte, size), Key: rapid.String().Draw(t, "key")}
			if rapid.Bool().Draw(t, "explicit") {
				record.HashKey = rapid.StringMatching(`[0-9]{1,20}`).Draw(t, "hash key")
			}
			want = append(want, record)
			r.Items = append(r.Items, Item{Record: &record})
		}
		name, arn := rapid.String().Draw(t, "name"), rapid.SampledFrom([]string{"", "arn:aws:x"}).Draw(t, "arn")
		requireBody(t, cbor.Unmarshal, new(Encoder).AppendCBOR(nil, &r, name, arn), name, arn, want)
	})
}

func TestCBORErrorIsRead(t *testing.T) {
	for name, raw := range map[string][]byte{
		"with lengths":    encodeCBOR(t, map[string]any{"__type": "X#Code", "message": "why", "other": []any{1.5, nil, map[string]any{"a": true}}}),
		"without lengths": openCBOR(nil, map[string]any{"__type": "X#Code", "Message": "why"}),
	} {
		code, message, err := CBORError(raw)
		require.NoError(t, err, name)
		require.Equal(t, "X#Code", code, name)
		require.Equal(t, "why", message, name)
	}
	for _, raw := range []string{"", "{}", "\xff", "\xbf", "\xa1", "\xa1a", "\x9f\xff", "\xa1\x61a\xfb"} {
		_, _, err := CBORError([]byte(raw))
		require.Error(t, err, "%x", raw)
	}
}

// FuzzCBOR: nothing panics or never ends, and what another's decoder refuses, or
// reads, is neither read nor refused here where it is the service's.
func FuzzCBOR(f *testing.F) {
	f.Add(encodeCBOR(f, map[string]any{"__type": "a", "message": "b", "n": []any{1, -1, 1e300, nil, []byte{1}}}))
	f.Add(openCBOR(nil, map[string]any{"__type": "a", "message": "b"}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		code, _, err := CBORError(raw)
		var plain map[string]any
		if err != nil || cbor.Unmarshal(raw, &plain) != nil {
			return
		}
		if want, ok := plain["__type"].(string); ok && plain["code"] == nil && plain["Code"] == nil {
			require.Equal(t, want, code)
		}
	})
}
