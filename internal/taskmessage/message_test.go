package taskmessage_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/taskmessage"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestDecodeReadsEveryFormOfTheSameMessage(t *testing.T) {
	const body = `{"taskId":"abc-_9","runId":3,"payload":{"n":12345678901234567890.0001},"excused":2,"hint":"x"}`
	padded := `{"taskId":"abc-_9","runId":3,"payload":{"n":12345678901234567890.0001},"excused":2} `
	for name, text := range map[string]string{
		"plain":             body,
		"plain with spaces": " \r\n" + body + "\n",
		"plain with BOM":    "\uFEFF" + body,
		"base64":            b64(body),
		"base64, lines":     b64(body)[:40] + "\r\n" + b64(body)[40:],
		"base64 of BOM":     b64("\uFEFF" + body),
		"base64 unpadded":   strings.TrimRight(b64(padded), "="),
		"base64, URL":       base64.URLEncoding.EncodeToString([]byte(body)),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := taskmessage.Decode(text)
			require.NoError(t, err)
			require.Equal(t, "abc-_9", m.TaskID)
			require.EqualValues(t, 3, m.RunID)
			require.EqualValues(t, 2, m.Excused)
			require.Equal(t, `{"n":12345678901234567890.0001}`, string(m.Payload))
		})
	}
}

func TestDecodeSaysWhyAMessageIsPoison(t *testing.T) {
	for text, reason := range map[string]string{
		"":                                  "the message is empty",
		" \n":                               "the message is empty",
		b64(" "):                            "empty inside its base64",
		"null":                              "the message is null",
		"[]":                                "the message is a list",
		`"abc"`:                             "the message is a string",
		"17":                                "the message is the number 17",
		b64("null"):                         "null in base64",
		b64("[1]"):                          "a list in base64",
		"!!not-base64":                      "neither JSON nor base64",
		b64("\x00\x01"):                     "base64 of something that is not JSON",
		`{"taskId"`:                         "not valid JSON",
		b64(`{"taskId":`):                   "not valid JSON",
		"{}":                                "taskId is missing",
		`{"taskId":null}`:                   "taskId is null",
		`{"taskId":5}`:                      "taskId is the number 5",
		`{"taskId":""}`:                     "does not match",
		`{"taskId":"a/b"}`:                  "does not match",
		`{"taskId":"a\nb"}`:                 "does not match",
		`{"TASKID":"a"}`:                    "taskId is missing",
		`{"taskId":"a","runId":-1}`:         "runId is -1",
		`{"taskId":"a","runId":1.5}`:        "runId is 1.5",
		`{"taskId":"a","runId":"0"}`:        "runId is a string",
		`{"taskId":"a","runId":null}`:       "runId is null",
		`{"taskId":"a","runId":1e99}`:       "runId is 1e99",
		`{"taskId":"a","payload":[]}`:       "payload is a list",
		`{"taskId":"a","payload":null}`:     "payload is null",
		`{"taskId":"a","excused":-2}`:       "excused is -2",
		"{\"taskId\":\"a\",\"x\":\"\xff\"}": "not valid UTF-8",
		`{"taskId":"` + strings.Repeat("a", 65) + `"}`: "does not match",
	} {
		_, err := taskmessage.Decode(text)
		require.ErrorContains(t, err, reason, "%q", text)
	}
}

// Raw 49,152 bytes are exactly one message; one more is refused before sending.
func TestCaseA15LimitAppliesToTheEncodedText(t *testing.T) {
	text, err := taskmessage.Encode(make([]byte, 49_152))
	require.NoError(t, err)
	require.Len(t, text, 65_536)

	_, err = taskmessage.Encode(make([]byte, 49_153))
	var tooLarge *taskmessage.TooLargeError
	require.ErrorAs(t, err, &tooLarge)
	require.Equal(t, 65_540, tooLarge.Bytes)

	full := `{"taskId":"a","pad":"` + strings.Repeat("x", taskmessage.MaxText-23) + `"}`
	require.Len(t, full, taskmessage.MaxText)
	_, err = taskmessage.Excuse(full, 1)
	require.ErrorAs(t, err, &tooLarge, "a full message has no room for the number of excused deliveries")
}

func TestExcuseKeepsAllElse(t *testing.T) {
	const body = `{"taskId":"a","runId":1,"payload":{"n":1.10,"s":"<&>"},"other":[1,2]}`
	for _, text := range []string{body, b64(body)} {
		excused, err := taskmessage.Excuse(text, 3)
		require.NoError(t, err)
		m, err := taskmessage.Decode(excused)
		require.NoError(t, err)
		require.EqualValues(t, 3, m.Excused)
		require.Equal(t, `{"n":1.10,"s":"<&>"}`, string(m.Payload))
		require.Equal(t, text[0] == '{', excused[0] == '{', "stays plain or in base64")

		again, err := taskmessage.Excuse(excused, 0)
		require.NoError(t, err)
		plain := again
		if plain[0] != '{' {
			raw, _ := base64.StdEncoding.DecodeString(again)
			plain = string(raw)
		}
		require.JSONEq(t, body, plain)
	}
}

func TestExcuseIsReadBackForAnyMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.MapOf(rapid.String(), rapid.Int()).Draw(t, "payload")
		doc := map[string]any{
			"taskId":  rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`).Draw(t, "taskId"),
			"runId":   rapid.IntRange(0, 1<<31-1).Draw(t, "runId"),
			"payload": payload,
		}
		raw, err := json.Marshal(doc)
		require.NoError(t, err)
		text := string(raw)
		if rapid.Bool().Draw(t, "base64") {
			text = b64(text)
		}
		n := rapid.Int64Range(0, 1000).Draw(t, "excused")
		before, err := taskmessage.Decode(text)
		require.NoError(t, err)
		excused, err := taskmessage.Excuse(text, n)
		require.NoError(t, err)
		after, err := taskmessage.Decode(excused)
		require.NoError(t, err)
		require.JSONEq(t, string(before.Payload), string(after.Payload))
		before.Payload, after.Payload, before.Excused = nil, nil, n
		require.Equal(t, before, after)
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "null", "{}", "bnVsbA==", `{"taskId":"a","runId":0,"payload":{}}`, b64(`{"taskId":"a"}`), "\uFEFF{", "!!"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := taskmessage.Decode(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("poison without a reason")
			}
			return
		}
		if !taskmessage.ValidID(m.TaskID) || m.RunID < 0 || m.Excused < 0 {
			t.Fatalf("accepted %+v", m)
		}
		if m.Payload != nil && !json.Valid(m.Payload) {
			t.Fatalf("payload %q is not JSON", m.Payload)
		}
		excused, err := taskmessage.Excuse(text, m.Excused+1)
		if err != nil {
			return // no room left for it
		}
		again, err := taskmessage.Decode(excused)
		if err != nil || again.TaskID != m.TaskID || again.RunID != m.RunID || again.Excused != m.Excused+1 {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
	})
}
