package connect

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// A document that is no JSON reaches who reads it, and can be refused by its type.
func TestADocumentIsHandedOnWhateverItsBytes(t *testing.T) {
	dc := Documents(converter.GetDefaultDataConverter())
	payload := func(encoding, data string) *commonpb.Payloads {
		p := &commonpb.Payload{Data: []byte(data)}
		if encoding != "" {
			p.Metadata = map[string][]byte{"encoding": []byte(encoding)}
		}
		return &commonpb.Payloads{Payloads: []*commonpb.Payload{p}}
	}
	for _, data := range []string{`{"a":1}`, `{"a":`, "", "\xff\x00", "NaN", `{"a":1}{"a":1}`} {
		for _, encoding := range []string{"json/plain", "binary/plain", "nobody/knows", ""} {
			var raw json.RawMessage
			require.NoError(t, dc.FromPayloads(payload(encoding, data), &raw), "%s %q", encoding, data)
			require.Equal(t, data, string(raw))
		}
	}
	var raw json.RawMessage
	require.NoError(t, dc.FromPayloads(nil, &raw))
	require.Empty(t, raw)

	var typed struct{ A int }
	require.Error(t, dc.FromPayloads(payload("json/plain", "{"), &typed), "what is decoded by its type is not")
	require.NoError(t, dc.FromPayloads(payload("json/plain", `{"A":7}`), &typed))
	require.Equal(t, 7, typed.A)
}
