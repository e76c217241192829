package connect

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
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
	idOf := func(fill byte) string {
		keys, err := ParseKeys(key(fill))
		require.NoError(t, err)
		return keys.First()
	}
	require.ErrorContains(t, err, fmt.Sprintf("key %q", idOf(1)), "which key is missing was not told")
	require.ErrorContains(t, err, idOf(2))
	same, err := Encryption(idOf(1) + ":" + key(2))
	require.NoError(t, err)
	_, err = same.Decode(encoded)
	require.ErrorContains(t, err, fmt.Sprintf("another key of the ID %q", idOf(1)))
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

// What was encrypted before a key was changed could not be read any more.
func TestOldKeysDecryptWhenANewOneIsInFront(t *testing.T) {
	before, err := Encryption("2024:" + key(1))
	require.NoError(t, err)
	old, err := before.Encode([]*commonpb.Payload{{Data: []byte("x")}})
	require.NoError(t, err)
	require.Equal(t, "2024", string(old[0].Metadata["encryption-key-id"]))
	after, err := Encryption("2025:" + key(2) + ", 2024:" + key(1))
	require.NoError(t, err)
	plain, err := after.Decode(old)
	require.NoError(t, err)
	require.Equal(t, "x", string(plain[0].Data))
	encoded, err := after.Encode(plain)
	require.NoError(t, err)
	_, err = before.Decode(encoded)
	require.ErrorContains(t, err, `the key "2025", which SLUICE_ENCRYPTION_KEY does not have (it has 2024)`)
}

func TestKeysWithTheSameOrAWrongIDAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"a:" + key(1) + ",a:" + key(2): `encryption key 2: its ID "a" is an earlier one's`,
		key(1) + "," + key(1):          "encryption key 2: its ID",
		"a b:" + key(1):                "encryption key 1: its ID does not match",
		":" + key(1):                   "encryption key 1: its ID does not match",
		"a:" + key(1) + ",":            "encryption key 2: 32 bytes in base64",
	} {
		_, err := ParseKeys(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), key(1))
	}
}

// A worker without any key took what was encrypted for a document that is wrong, and
// its workflow failed for good.
func TestWhoHasNoKeyIsToldWhichIsMissing(t *testing.T) {
	codec, err := Encryption("2024:" + key(1))
	require.NoError(t, err)
	encoded, err := codec.Encode([]*commonpb.Payload{{Data: []byte("x")}})
	require.NoError(t, err)
	_, err = NoEncryption().Decode(encoded)
	require.ErrorContains(t, err, `the key "2024", which SLUICE_ENCRYPTION_KEY does not have (it has none)`)
	var taskOnly *converter.WorkflowTaskFailureError
	require.ErrorAs(t, err, &taskOnly, "the workflow would fail for it")
	plain := []*commonpb.Payload{{Data: []byte("x")}}
	same, err := NoEncryption().Encode(plain)
	require.NoError(t, err)
	require.Equal(t, plain, same)
}
