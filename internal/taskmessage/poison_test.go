package taskmessage_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/taskmessage"
)

var record = taskmessage.Record{
	MessageID: "11111111-2222-3333-4444-555555555555", Queue: "tasks", Reason: "delivered 15 times",
	DequeueCount: 15, PoisonedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
}

// noise is text that no compression makes shorter than its entropy.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	raw := make([]byte, n/4*3)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func TestCaseA15PoisonCopyOfALargeMessage(t *testing.T) {
	for name, c := range map[string]struct{ body, encoding string }{
		"small":                     {`{"taskId":"a"}`, taskmessage.BodyAsIs},
		"large and compressible":    {strings.Repeat(`{"taskId":"a"} `, 4_000), taskmessage.BodyGzip},
		"65,536 characters":         {b64(strings.Repeat("abc ", 12_288)), taskmessage.BodyGzip},
		"65,536 characters, random": {noise(65_536), taskmessage.BodyCut},
		"quotes and controls":       {strings.Repeat("\"\\\x01", 20_000), taskmessage.BodyGzip},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := record.Wrap(c.body)
			require.NoError(t, err)
			require.LessOrEqual(t, len(text), taskmessage.MaxText)
			got, err := taskmessage.Unwrap(text)
			require.NoError(t, err)
			require.Equal(t, c.encoding, got.BodyEncoding)
			require.Equal(t, len(c.body), got.BodyBytes)
			require.Equal(t, record.MessageID, got.MessageID)
			require.Equal(t, record.Reason, got.Reason)
			original, err := got.Original()
			if c.encoding == taskmessage.BodyCut {
				require.ErrorContains(t, err, "too large")
				require.True(t, strings.HasPrefix(c.body, strings.TrimSuffix(got.Body, "…")))
				require.Greater(t, len(got.Body), 60_000, "cut more than needed")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.body, original)
		})
	}
}

func TestPoisonRecordHoldsAnyBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Repeat(rapid.String().Draw(t, "piece"), rapid.IntRange(1, 2_000).Draw(t, "times"))
		body = strings.ToValidUTF8(body[:min(len(body), taskmessage.MaxText)], "")
		r := record
		r.Reason = rapid.String().Draw(t, "reason") + strings.Repeat("ä", rapid.IntRange(0, 2_000).Draw(t, "length"))
		text, err := r.Wrap(body)
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), taskmessage.MaxText)
		got, err := taskmessage.Unwrap(text)
		require.NoError(t, err)
		if original, err := got.Original(); err == nil {
			require.Equal(t, body, original)
		}
	})
}

func TestReplayableForgetsExcusedDeliveries(t *testing.T) {
	r := record
	r.Body = `{"taskId":"a","excused":9}`
	text, err := r.Replayable()
	require.NoError(t, err)
	require.Equal(t, `{"taskId":"a"}`, text)

	r.Body = "!!not-base64"
	text, err = r.Replayable()
	require.NoError(t, err)
	require.Equal(t, "!!not-base64", text)
}

func TestUnwrapRefusesWhatIsNoRecord(t *testing.T) {
	for _, text := range []string{"", "null", "{}", "[]", "abc"} {
		_, err := taskmessage.Unwrap(text)
		require.Error(t, err, "%q", text)
	}
}

// What somebody moves back from the poison queue by hand is the message again, as
// it is or in base64, compressed, and however often it was wrapped.
func TestPoisonMovedBackByHandIsTheMessage(t *testing.T) {
	const body = `{"taskId":"a","runId":2,"payload":{"x":1},"excused":7}`
	wrap := func(text string) string {
		wrapped, err := taskmessage.Record{MessageID: "m", Queue: "q", Reason: "r", PoisonedAt: time.Unix(0, 0).UTC()}.Wrap(text)
		require.NoError(t, err)
		return wrapped
	}
	long := `{"taskId":"a","runId":2,"payload":{"x":"` + strings.Repeat("\\", 20_000) + `"}}`
	for name, text := range map[string]string{
		"plain": wrap(body), "in base64": b64(wrap(body)), "twice": wrap(wrap(body)), "of base64": wrap(b64(body)), "compressed": wrap(long),
	} {
		plain, err := taskmessage.Unpoisoned(text)
		require.NoError(t, err, name)
		m, err := taskmessage.Decode(plain)
		require.NoError(t, err, name)
		require.Equal(t, "a", m.TaskID, name)
		require.EqualValues(t, 2, m.RunID, name)
		require.Zero(t, m.Excused, "its deliveries are counted anew")
	}
	for _, text := range []string{body, "", "!!", `{"taskId":"a","messageId":"m","poisonedAt":"1970-01-01T00:00:00Z","body":"x"}`} {
		same, err := taskmessage.Unpoisoned(text)
		require.NoError(t, err)
		require.Equal(t, text, same)
	}
	_, err := taskmessage.Unpoisoned(`{"messageId":"m","poisonedAt":"1970-01-01T00:00:00Z","bodyEncoding":"cut","bodyBytes":9,"body":"x"}`)
	require.ErrorContains(t, err, "1 of 9 bytes are kept")
}
