package delivery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBufferIsDueBySizeOrAge(t *testing.T) {
	start := time.Unix(1000, 0)
	b := newBuffer(10, 5*time.Second)
	is := func(at time.Duration, due bool, in time.Duration) {
		t.Helper()
		gotDue, gotIn := b.due(start.Add(at))
		require.Equal(t, due, gotDue)
		require.Equal(t, in, gotIn)
	}
	is(time.Hour, false, 0) // empty: never
	b.add(batch{"a", [][]byte{[]byte("abc")}, "7"}, start)
	is(0, false, 5*time.Second)
	b.add(batch{"b", [][]byte{[]byte("de"), []byte("f")}, "3"}, start.Add(2*time.Second))
	is(4*time.Second, false, time.Second) // by the first record's age
	is(5*time.Second, true, 0)
	b.add(batch{"a", [][]byte{[]byte("ghij")}, "8"}, start.Add(3*time.Second))
	is(3*time.Second, true, 0) // full
	require.Equal(t, "abcdefghij", string(b.data))
	require.Equal(t, map[string]string{"a": "8", "b": "3"}, b.reached)
	b.clear()
	is(time.Hour, false, 0)
}

func TestProgressIsKept(t *testing.T) {
	file := t.TempDir() + "/sub/stream.json"
	p, err := loadProgress(file)
	require.NoError(t, err)
	require.Empty(t, p.after("a"))
	require.NoError(t, p.advance(map[string]string{"a": "1", "b": "2"}))
	require.NoError(t, p.advance(map[string]string{"a": "3"}))
	again, err := loadProgress(file)
	require.NoError(t, err)
	require.Equal(t, "3", again.after("a"))
	require.Equal(t, "2", again.after("b"))
}

func TestParseRequest(t *testing.T) {
	r, err := ParseRequest("stream=s,bucket=b,prefix=p/,notifications=q,size=10,interval=2s")
	require.NoError(t, err)
	require.Equal(t, Request{Stream: "s", Bucket: "b", Prefix: "p/", Notifications: "q", BufferBytes: 10, BufferInterval: "2s"}, r)
	_, err = ParseRequest("stream=s,bukket=b")
	require.ErrorContains(t, err, "bukket")
}
