package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"":             "''",
		"ingest/abc-1": "ingest/abc-1",
		`{"a":"b c"}`:  `'{"a":"b c"}'`,
		"it's":         `'it'\''s'`,
		"$HOME":        "'$HOME'",
	} {
		require.Equal(t, want, Quote(word))
	}
}
