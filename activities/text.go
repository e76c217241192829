package activities

import (
	"encoding/json"
	"fmt"
)

// Shorten keeps the message of an error short enough for a heartbeat.
func Shorten(message string) string {
	const longest = 300
	if len(message) <= longest {
		return message
	}
	return message[:longest] + "…"
}

// Body is what is sent of a JSON value: the text of a string, any other as JSON.
func Body(raw json.RawMessage) (body []byte, contentType string) {
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, ""
	case json.Unmarshal(raw, &text) == nil:
		return []byte(text), "text/plain; charset=utf-8"
	default:
		return raw, "application/json"
	}
}

// Plural counts things in words.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
