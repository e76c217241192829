package guard

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// queueRule is one QueueConfiguration of a bucket.
type queueRule struct {
	ID     string   `xml:"Id"`
	Queue  string   `xml:"Queue"`
	Events []string `xml:"Event"`
	Filter []struct {
		Name  string `xml:"Name"`
		Value string `xml:"Value"`
	} `xml:"Filter>S3Key>FilterRule"`
}

// wants tells whether the rule announces the removal of a key.
func (q queueRule) wants(key string) bool {
	named := false
	for _, event := range q.Events {
		named = named || event == "s3:ObjectRemoved:*" || event == "s3:ObjectRemoved:Delete"
	}
	for _, f := range q.Filter {
		switch strings.ToLower(f.Name) {
		case "prefix":
			named = named && strings.HasPrefix(key, f.Value)
		case "suffix":
			named = named && strings.HasSuffix(key, f.Value)
		}
	}
	return named
}

// rules reads a bucket's configuration; a bucket without one has none.
func (o *objects) rules(ctx context.Context, bucket string) ([]queueRule, error) {
	status, body, err := o.to.get(ctx, "/"+url.PathEscape(bucket)+"?notification")
	if err != nil || status != http.StatusOK {
		return nil, err
	}
	var configuration struct {
		Queues []queueRule `xml:"QueueConfiguration"`
	}
	_ = xml.Unmarshal(body, &configuration)
	return configuration.Queues, nil
}

// aboutToRemove answers the keys that a delete names and that are there. (The
// service announces also the removal of what isn't there only in versioned
// buckets.)
func (s *s3) aboutToRemove(ctx context.Context, c *call, bucket, key string) ([]string, error) {
	switch c.operation {
	case "DeleteObject":
		return s.objects.present(ctx, bucket, []string{key})
	case "DeleteObjects":
		if err := c.keepBody(); err != nil {
			return nil, err
		}
		var request struct {
			Objects []struct{ Key string } `xml:"Object"`
		}
		_ = xml.Unmarshal(c.body, &request)
		keys := make([]string, len(request.Objects))
		for i, object := range request.Objects {
			keys[i] = object.Key
		}
		return s.objects.present(ctx, bucket, keys)
	}
	return nil, nil
}

// present filters keys by whether there is such an object; nothing is asked where
// nobody wants to know.
func (o *objects) present(ctx context.Context, bucket string, keys []string) ([]string, error) {
	rules, err := o.rules(ctx, bucket)
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	var there []string
	for _, key := range keys {
		out, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://"+o.to.address+"/"+bucket+"/"+(&url.URL{Path: key}).EscapedPath(), nil)
		if err != nil {
			return nil, err
		}
		a, err := o.to.do(out)
		if err != nil {
			return nil, err
		}
		a.close()
		if a.status == http.StatusOK {
			there = append(there, key)
		}
	}
	return there, nil
}

// announceRemovals sends ObjectRemoved events to the queues that want them.
func (o *objects) announceRemovals(ctx context.Context, bucket string, keys []string) {
	if len(keys) == 0 {
		return
	}
	rules, err := o.rules(ctx, bucket)
	if err != nil {
		return
	}
	for _, key := range keys {
		o.mu.Lock()
		place := o.place()
		o.mu.Unlock()
		for _, rule := range rules {
			if rule.wants(key) {
				o.send(ctx, rule, removedEvent(rule.ID, bucket, key, place))
			}
		}
	}
}

func (o *objects) send(ctx context.Context, rule queueRule, event []byte) {
	queue := rule.Queue[strings.LastIndexByte(rule.Queue, ':')+1:]
	in := map[string]string{"QueueUrl": "http://" + path.Join(o.to.address, "000000000000", queue), "MessageBody": string(event)}
	// A queue that is gone loses its messages, as the service's would.
	_, _, _ = o.to.ask(ctx, "AmazonSQS.SendMessage", sqsContent, encode(in))
}

func removedEvent(rule, bucket, key string, place int64) []byte {
	object := map[string]any{"key": url.QueryEscape(key), "sequencer": sequencerText(place)}
	record := map[string]any{
		"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1",
		"eventTime": time.Unix(0, place).UTC().Format("2006-01-02T15:04:05.000Z"),
		"eventName": "ObjectRemoved:Delete",
		"s3": map[string]any{"s3SchemaVersion": "1.0", "configurationId": rule, "object": object,
			"bucket": map[string]any{"name": bucket, "arn": "arn:aws:s3:::" + bucket}},
	}
	body, _ := json.Marshal(map[string]any{"Records": []any{record}})
	return body
}
