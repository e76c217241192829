package table

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATableHasAColumnForEachMember(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, json.RawMessage(`[{"id":"a","n":1,"error":null},{"id":"bb","n":22,"error":"two\nlines","jobs":["x"]}]`)))
	require.Equal(t, "ID  N   ERROR      JOBS\na   1\nbb  22  two lines  [\"x\"]\n", out.String())
}

func TestALongCellIsCut(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, json.RawMessage(`[{"id":"`+strings.Repeat("x", 100)+`"}]`)))
	require.Contains(t, out.String(), strings.Repeat("x", longest-1)+"…\n")
}

func TestATableIsMadeOfAListOnly(t *testing.T) {
	require.Error(t, Write(&bytes.Buffer{}, json.RawMessage(`{}`)))
	require.Error(t, Write(&bytes.Buffer{}, json.RawMessage(`[1]`)))
}
