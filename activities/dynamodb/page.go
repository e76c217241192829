package dynamodb

import (
	"context"
	"encoding/json"
	"fmt"

	"sluice/activities"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// pageAnswer is what matters of a page's answer.
type pageAnswer struct {
	Items            []json.RawMessage
	ScannedCount     int64
	LastEvaluatedKey object
}

// fit makes an answer fit into a payload: a page is cut at an item, everything
// else is refused.
func (d *Activities) fit(ctx context.Context, a *attempt, r throughput.Request, document, answer json.RawMessage) (json.RawMessage, error) {
	for len(answer) > d.payload {
		var page pageAnswer
		if (r.Name != "Query" && r.Name != "Scan") || json.Unmarshal(answer, &page) != nil {
			return nil, d.tooLarge(r, len(answer))
		}
		keep := page.fitting(d.payload - (len(answer) - page.size()) - 1024)
		if keep == 0 || page.ScannedCount < 2 {
			return nil, d.tooLarge(r, len(answer))
		}
		if cut, ok := page.cut(document, answer, keep); ok {
			return cut, nil
		}
		// Where the page can't tell its own end, the service is asked for less.
		limit := max(page.ScannedCount*int64(keep)/int64(len(page.Items)), 1)
		smaller, err := withField(document, "Limit", fmt.Sprint(min(limit, page.ScannedCount-1)))
		if err != nil {
			return nil, invalid(r, err)
		}
		if answer, err = d.do(ctx, a, r, smaller); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func (p pageAnswer) size() (size int) {
	for _, item := range p.Items {
		size += len(item) + 1
	}
	return size
}

// fitting is the number of items that take up at most so many bytes.
func (p pageAnswer) fitting(room int) int {
	for i, item := range p.Items {
		if room -= len(item) + 1; room < 0 {
			return i
		}
	}
	return len(p.Items)
}

// cut keeps the first items and sets the key at which the next page begins. It
// can't where a filter hides what was read, or where the items don't hold the
// whole key.
func (p pageAnswer) cut(document, answer json.RawMessage, keep int) (json.RawMessage, bool) {
	request, err := objectIn(document)
	if err != nil || len(p.LastEvaluatedKey) == 0 {
		return nil, false
	}
	for _, filter := range []string{"FilterExpression", "QueryFilter", "ScanFilter"} {
		if _, filtered := request[filter]; filtered {
			return nil, false
		}
	}
	last, err := objectIn(p.Items[keep-1])
	if err != nil {
		return nil, false
	}
	key := object{}
	for name := range p.LastEvaluatedKey {
		value, there := last[name]
		if !there {
			return nil, false
		}
		key[name] = value
	}
	shorter, err := objectIn(answer)
	if err != nil {
		return nil, false
	}
	shorter["Items"] = encode(p.Items[:keep], nil)
	shorter["LastEvaluatedKey"] = encode(key, nil)
	shorter["Count"] = json.RawMessage(fmt.Sprint(keep))
	shorter["ScannedCount"] = shorter["Count"]
	return encode(shorter, nil), true
}

func (d *Activities) tooLarge(r throughput.Request, size int) error {
	message := fmt.Sprintf("the answer takes %d bytes, and a payload holds %d; set SLUICE_PAYLOAD_BUCKET, or ask for less", size, d.payload)
	if r.Direction == throughput.Write {
		message = "applied, but " + message
	}
	return activities.Fail(activities.TypeTooLarge, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.DynamoDBPrefix + r.Name, Target: r.Target()},
		Message:      message,
	})
}
