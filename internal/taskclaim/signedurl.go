package taskclaim

import (
	"net/url"
	"strconv"
	"strings"
)

// PollURL is a signed poll URL with the number of messages wanted, 1 to MaxPoll.
// The signature covers parameters of its own only, so adding one keeps it valid;
// the others are left byte for byte as they were signed.
func PollURL(signed string, n int) (string, error) {
	u, err := url.Parse(signed)
	if err != nil {
		return "", errURL
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "numofmessages=" + strconv.Itoa(max(1, min(n, MaxPoll)))
	return u.String(), nil
}

// DeleteURL is a signed delete URL with its placeholders {{messageId}} and
// {{popReceipt}}, which may be percent-encoded, filled in; a space becomes %20,
// since "+" is a plus sign in a path and receipts are base64.
func DeleteURL(signed, messageID, popReceipt string) (string, error) {
	filled := signed
	for _, p := range []struct{ name, value string }{{"messageId", messageID}, {"popReceipt", popReceipt}} {
		value := strings.ReplaceAll(url.QueryEscape(p.value), "+", "%20")
		for _, form := range []string{"{{" + p.name + "}}", "%7B%7B" + p.name + "%7D%7D", "%7b%7b" + p.name + "%7d%7d"} {
			filled = strings.ReplaceAll(filled, form, value)
		}
	}
	if _, err := url.Parse(filled); err != nil {
		return "", errURL
	}
	return filled, nil
}

// urlError stands for the parser's own error, which would quote the signed URL.
type urlError struct{}

func (urlError) Error() string { return "the signed URL cannot be parsed" }

var errURL error = urlError{}

// QueueName is the name of the queue that a signed URL is for: its path element
// before "messages". It holds no secret.
func QueueName(signed string) string {
	u, err := url.Parse(strings.NewReplacer("{{", "", "}}", "").Replace(signed))
	if err != nil {
		return "unknown"
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	for i, part := range parts {
		if part == "messages" && i > 0 {
			return parts[i-1]
		}
	}
	return parts[len(parts)-1]
}
