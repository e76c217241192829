package guard

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"strings"
)

const sqsContent = "application/x-amz-json-1.0"

// sqs makes kumo's queue addresses ones that lead through the guard, and its S3
// events like the service's.
type sqs struct {
	to      *upstream
	objects *objects
}

func (s *sqs) identify(c *call) (err error) {
	if err := identifyJSON(c); err != nil {
		return err
	}
	if c.doc, err = parse(c.body); err != nil {
		return err
	}
	if c.target = c.doc.text("QueueName"); c.target == "" {
		c.target = path.Base(c.doc.text("QueueUrl"))
	}
	if c.target == "." {
		c.target = ""
	}
	return nil
}

func (s *sqs) work(ctx context.Context, c *call) (*answer, error) {
	a, err := s.to.send(ctx, c, c.body)
	if err != nil || a.status != http.StatusOK {
		return a, err
	}
	var change func(doc)
	switch c.operation {
	case "CreateQueue", "GetQueueUrl":
		change = func(out doc) { out.set("QueueUrl", here(c, out.text("QueueUrl"))) }
	case "ListQueues", "ListDeadLetterSourceQueues":
		change = func(out doc) { listHere(c, out) }
	case "ReceiveMessage":
		change = s.objects.mendEvents
	default:
		return a, nil
	}
	text, err := a.whole()
	if err != nil {
		return nil, err
	}
	out, err := parse(text)
	if err != nil {
		return a, nil //nolint:nilerr // what is no document goes on as it is
	}
	change(out)
	a.setBody(encode(out))
	return a, nil
}

func (s *sqs) refuse(c *call, status int, code, message string) *answer {
	return refuseJSON(c, sqsContent, "com.amazonaws.sqs#", status, code, message)
}

// here gives a queue's address the host that the client used.
func here(c *call, queueURL string) string {
	if _, rest, found := strings.Cut(queueURL, "://"); found {
		if _, path, found := strings.Cut(rest, "/"); found {
			return "http://" + c.r.Host + "/" + path
		}
	}
	return queueURL
}

func listHere(c *call, out doc) {
	for _, name := range []string{"QueueUrls", "queueUrls"} {
		var urls []string
		if json.Unmarshal(out[name], &urls) != nil || urls == nil {
			continue
		}
		for i := range urls {
			urls[i] = here(c, urls[i])
		}
		out.set(name, urls)
	}
}

func sum(text string) string {
	digest := md5.Sum([]byte(text))
	return hex.EncodeToString(digest[:])
}
