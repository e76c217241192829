package document

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHalfASurrogatePairIsNoText(t *testing.T) {
	for text, want := range map[string]bool{
		`"x"`: true, `""`: true, `"é\u00e9"`: true, `"\ud83d\ude00"`: true, `"\\ud800"`: true, `"\\\\\ud83d\ude00"`: true,
		`"\ufffd"`: true, `{"a":"\n","b":["\""]}`: true,
		`"\ud800"`: false, `"\ud800x"`: false, `"\udc00"`: false, `"\ude00\ud83d"`: false, `"\ud83d\ud83d\ude00"`: false,
		`"\ud800\n"`: false, `"\\\ud800"`: false, "\"\xff\"": false,
	} {
		require.Equal(t, want, IsText([]byte(text)), text)
	}
}
