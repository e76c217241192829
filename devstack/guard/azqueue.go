package guard

import (
	"context"
	"encoding/xml"
	"net/http"
	"strings"
)

// azureQueues passes everything on; it only knows the operations' names.
type azureQueues struct{ to *upstream }

func (q azureQueues) identify(c *call) error {
	// /account[/queue[/messages[/id]]]
	parts := strings.Split(strings.Trim(c.r.URL.Path, "/"), "/")
	query := c.r.URL.Query()
	if len(parts) > 1 {
		c.target = parts[1]
	}
	kind := min(len(parts), 4)
	names := map[string]string{
		"2PUT": "CreateQueue", "2DELETE": "DeleteQueue", "2GET": "GetQueueProperties", "2HEAD": "GetQueueProperties",
		"3POST": "PutMessage", "3GET": "GetMessages", "3DELETE": "ClearMessages",
		"4PUT": "UpdateMessage", "4DELETE": "DeleteMessage",
	}
	c.operation = names[string(rune('0'+kind))+c.r.Method]
	switch {
	case kind == 1 && query.Get("comp") == "list":
		c.operation = "ListQueues"
	case kind == 2 && c.r.Method == http.MethodPut && query.Get("comp") != "":
		c.operation = "SetQueueMetadata"
	case c.operation == "GetMessages" && query.Get("peekonly") == "true":
		c.operation = "PeekMessages"
	case c.operation == "":
		c.operation = c.r.Method
	}
	return nil
}

func (q azureQueues) work(ctx context.Context, c *call) (*answer, error) {
	return q.to.send(ctx, c, c.sentBody())
}

// sentBody is the body to forward where it was kept; nil streams it.
func (c *call) sentBody() []byte {
	if c.kept {
		return c.body
	}
	return nil
}

func (q azureQueues) refuse(_ *call, status int, code, message string) *answer {
	return xmlAnswer(status, code, message, http.Header{"X-Ms-Error-Code": {code}, "X-Ms-Request-Id": {requestID()}})
}

// xmlAnswer is an error of the services that answer in XML.
func xmlAnswer(status int, code, message string, header http.Header) *answer {
	body, _ := xml.Marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
	header.Set("Content-Type", "application/xml")
	a := &answer{status: status, header: header}
	a.setBody(append([]byte(xml.Header), body...))
	return a
}
