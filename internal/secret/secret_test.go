package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A secret is concealed in every form in which somebody may echo it.
func TestAKnownSecretIsConcealedInEveryForm(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("deployer:pass/word+1"))
	Add("Basic "+basic, "token opaque-7f/3+9", "short")
	AddConnectionString("AccountName=devaccount;AccountKey=c2VjcmV0LWtleQ==;BlobEndpoint=http://127.0.0.1")
	for _, secret := range []string{basic, "deployer:pass/word+1", "pass/word+1", "opaque-7f/3+9", "c2VjcmV0LWtleQ=="} {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), url.QueryEscape(secret)} {
			told := Conceal("you sent <" + form + ">, which is wrong")
			require.NotContains(t, told, form)
			require.Contains(t, told, Redacted)
		}
	}
	for _, plain := range []string{"short", "devaccount", "http://127.0.0.1", "Basic", "token"} {
		require.Equal(t, plain, Conceal(plain), "what is no secret stays")
	}
	var out bytes.Buffer
	n, err := Writer(&out).Write([]byte("a line with opaque-7f/3+9\n"))
	require.NoError(t, err)
	require.Equal(t, 26, n)
	require.Equal(t, "a line with [redacted]\n", out.String())
}

// An origin that encodes the whole request has the secret anywhere within: base64 then
// begins at one of three offsets, and none of its forms is that of the secret alone.
func TestASecretWithinWhatWasEncodedIsConcealed(t *testing.T) {
	const key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCY<\"&>EXAMPLEKEY"
	Add(key)
	for _, before := range []string{"", "a", "ab", "abc", "Authorization: Bearer "} {
		for _, behind := range []string{"", "\n", "\r\n", "and more"} {
			whole := before + key + behind
			quoted, err := json.Marshal(whole)
			require.NoError(t, err)
			for name, encoded := range map[string]string{
				"base64": base64.StdEncoding.EncodeToString([]byte(whole)), "base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(whole)),
				"hexadecimal": hex.EncodeToString([]byte(whole)), "HEXADECIMAL": strings.ToUpper(hex.EncodeToString([]byte(whole))),
				"query": url.QueryEscape(whole), "path": url.PathEscape(whole), "JSON": string(quoted),
			} {
				told := Conceal(encoded)
				for _, form := range Forms(key) {
					require.NotContains(t, told, form, "%s of %q", name, whole)
				}
				require.Less(t, len(told), len(encoded)-len(key)/2, "%s: what is left of %q", name, told)
			}
		}
	}
}

// Every call of a service adds the credentials that it is signed with.
func TestAddingAKnownSecretAgainCostsNothing(t *testing.T) {
	const key = "added-with-every-call/0123456789"
	Add(key, "")
	require.Zero(t, testing.AllocsPerRun(100, func() { Add(key, "") }))
	require.Equal(t, Redacted, Conceal(key))
}

// Credentials that are renewed for months do not fill the memory.
func TestOldSecretsAreForgotten(t *testing.T) {
	for i := range most {
		Add("renewed-" + string(rune('a'+i%26)) + base64.StdEncoding.EncodeToString([]byte{byte(i), byte(i >> 8)}))
	}
	require.LessOrEqual(t, len(known.forms), most)
}
