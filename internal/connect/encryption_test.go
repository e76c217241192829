package connect

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"
)

func key(fill byte) string {
	raw := make([]byte, keySize)
	for i := range raw {
		raw[i] = fill
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func TestEncryptionRoundTrip(t *testing.T) {
	codec, err := Encryption(key(1))
	require.NoError(t, err)
	plain := []*commonpb.Payload{
		{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`{"card":"4111"}`)},
		{Metadata: map[string][]byte{"encoding": []byte("binary/null")}},
	}
	encoded, err := codec.Encode(plain)
	require.NoError(t, err)
	for _, p := range encoded {
		require.NotContains(t, p.String(), "4111")
		require.NotContains(t, p.String(), "json/plain")
	}
	again, err := codec.Encode(plain)
	require.NoError(t, err)
	require.NotEqual(t, encoded[0].Data, again[0].Data, "a nonce was used twice")
	decoded, err := codec.Decode(encoded)
	require.NoError(t, err)
	for i := range plain {
		require.True(t, proto.Equal(plain[i], decoded[i]))
	}
}

func TestEncryptionPassesByWhatIsNotEncrypted(t *testing.T) {
	codec, err := Encryption(key(1))
	require.NoError(t, err)
	plain := []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`1`)}}
	decoded, err := codec.Decode(plain)
	require.NoError(t, err)
	require.Equal(t, plain, decoded)
}

func TestEncryptionRefusesAnotherKeyAndDamage(t *testing.T) {
	one, err := Encryption(key(1))
	require.NoError(t, err)
	two, err := Encryption(key(2))
	require.NoError(t, err)
	encoded, err := one.Encode([]*commonpb.Payload{{Data: []byte("x")}})
	require.NoError(t, err)
	_, err = two.Decode(encoded)
	require.ErrorContains(t, err, "another SLUICE_ENCRYPTION_KEY")
	encoded[0].Data = encoded[0].Data[:4]
	_, err = one.Decode(encoded)
	require.ErrorContains(t, err, "shorter than its nonce")
}

func TestEncryptionRefusesBadKeysWithoutTellingThem(t *testing.T) {
	for _, bad := range []string{"", "secret", base64.StdEncoding.EncodeToString([]byte("sixteen bytes key"))} {
		_, err := Encryption(bad)
		require.ErrorContains(t, err, "32 bytes in base64")
		if bad != "" {
			require.NotContains(t, err.Error(), bad)
		}
	}
}
