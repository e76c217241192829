package guard

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
)

// doc is a JSON object whose values pass through as they stand.
type doc map[string]json.RawMessage

func parse(body []byte) (doc, error) {
	var d doc
	err := json.Unmarshal(body, &d)
	if d == nil {
		d = doc{}
	}
	return d, err
}

// text answers a string field, "" if it isn't one.
func (d doc) text(name string) string {
	var s string
	_ = json.Unmarshal(d[name], &s)
	return s
}

func (d doc) truth(name string) bool { return string(d[name]) == "true" }

// set puts in a value of ours, which always has a JSON form.
func (d doc) set(name string, value any) { d[name] = encode(value) }

// encode writes JSON without HTML escapes, as the services do.
func encode(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// identifyJSON reads the operation out of the X-Amz-Target header, and the body.
func identifyJSON(c *call) error {
	_, c.operation, _ = strings.Cut(c.r.Header.Get("X-Amz-Target"), ".")
	return c.keepBody()
}

// refuseJSON is an error in the AWS JSON protocols.
func refuseJSON(c *call, contentType, namespace string, status int, code, message string) *answer {
	if code != "" && !strings.ContainsAny(code, "#:") {
		code = namespace + code
	}
	body := doc{}
	if code != "" {
		body.set("__type", code)
	}
	if message == "" {
		message = "injected by the dev stack"
	}
	body.set("message", message)
	a := jsonAnswer(contentType, status, encode(body))
	sumUp(c, a, encode(body))
	return a
}

func jsonAnswer(contentType string, status int, body []byte) *answer {
	a := &answer{status: status, header: http.Header{"Content-Type": {contentType}, "X-Amzn-Requestid": {requestID()}}}
	a.setBody(body)
	return a
}

// sumUp adds the checksum that DynamoDB's clients verify.
func sumUp(c *call, a *answer, body []byte) {
	if c.service == DynamoDB {
		a.header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	}
}

// errorCode is the last part of an error document's type.
func errorCode(body []byte) string {
	d, err := parse(body)
	if err != nil {
		return ""
	}
	code := d.text("__type")
	return code[strings.LastIndexByte(code, '#')+1:]
}

// errorMessage is an error document's text, under either spelling.
func errorMessage(body []byte) string {
	d, _ := parse(body)
	if m := d.text("message"); m != "" {
		return m
	}
	return d.text("Message")
}

// nameOf takes the name of a resource out of its ARN: what follows the kind.
func nameOf(arn, kind string) string {
	if _, name, found := strings.Cut(arn, kind+"/"); found && strings.HasPrefix(arn, "arn:") {
		name, _, _ = strings.Cut(name, "/")
		return name
	}
	return arn
}

func requestID() string { return rand.Text() }
