package duration

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDurationReads(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want time.Duration
		err  string
	}{
		{`"500ms"`, 500 * time.Millisecond, ""},
		{`"1h30m"`, 90 * time.Minute, ""},
		{`""`, 0, ""},
		{`null`, 0, ""},
		{`"0s"`, 0, ""},
		{`30`, 0, `write "30s"`},
		{`1.5`, 0, `write "1.5s"`},
		{`"30"`, 0, `write "30s"`},
		{`"-1s"`, 0, "negative"},
		{`"soon"`, 0, "not a duration"},
		{`{}`, 0, "a string like"},
		{`true`, 0, "a string like"},
	} {
		var d Duration
		err := json.Unmarshal([]byte(c.raw), &d)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.raw)
			continue
		}
		require.NoError(t, err, c.raw)
		require.Equal(t, c.want, d.Std(), c.raw)
	}
}

func TestDurationReadsWhatItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Duration(rapid.Int64Range(0, 1<<62).Draw(t, "ns"))
		raw, err := json.Marshal(want)
		require.NoError(t, err)
		var got Duration
		require.NoError(t, json.Unmarshal(raw, &got))
		require.Equal(t, want, got)
	})
}

func TestDurationWritesShort(t *testing.T) {
	require.Equal(t, "1h", Duration(time.Hour).String())
	require.Equal(t, "1h30m", Duration(90*time.Minute).String())
	require.Equal(t, "10s", Duration(10*time.Second).String())
	require.Equal(t, "0s", Duration(0).String())
}

func TestDeadline(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		raw  string
		want time.Time
		err  string
	}{
		{`""`, time.Time{}, ""},
		{`"2h"`, start.Add(2 * time.Hour), ""},
		{`"2026-01-02T15:04:05+01:00"`, time.Date(2026, 1, 2, 14, 4, 5, 0, time.UTC), ""},
		{`7200`, time.Time{}, `write "7200s"`},
		{`"2026-01-02"`, time.Time{}, "neither an instant"},
	} {
		var d Deadline
		err := json.Unmarshal([]byte(c.raw), &d)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.raw)
			continue
		}
		require.NoError(t, err, c.raw)
		require.Equal(t, c.want, d.Time(start), c.raw)
		raw, err := json.Marshal(d)
		require.NoError(t, err)
		var again Deadline
		require.NoError(t, json.Unmarshal(raw, &again))
		require.Equal(t, d, again)
	}
}
