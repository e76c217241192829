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

func TestAnObjectIsItsMembersAndThenItsLists(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, json.RawMessage(`{"asOf":"now","reason":"","claim":null,"jobs":[{"id":"a","state":"RUNNING"}],"names":["x","y"],"n":0,"none":[],"phase":"FLOWING"}`)))
	require.Equal(t, "ASOF   now\nNAMES  [\"x\",\"y\"]\nN      0\nPHASE  FLOWING\n\nJOBS\nID  STATE\na   RUNNING\n", out.String())
}

func TestAnEmptyListHasNoHeading(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, json.RawMessage(`[]`)))
	require.Empty(t, out.String())
}

func TestATableIsMadeOfObjectsOnly(t *testing.T) {
	for _, document := range []string{`7`, `"x"`, `[1]`, `{"a":`} {
		require.Error(t, Write(&bytes.Buffer{}, json.RawMessage(document)), document)
	}
}
