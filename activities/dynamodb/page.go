package dynamodb

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

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

// pageLimits remember how many items of a table or index a payload holds, where the
// service's pages hold more: what is cut off a page is read again with the next one,
// and paid for again, so the next one is asked for no more than fits.
type pageLimits struct {
	mu    sync.Mutex
	known map[string]int64
}

// pagesOf is what calls have in common whose pages are alike.
func pagesOf(r throughput.Request) string { return r.Name + " " + r.Target() + " " + r.Index }

// limited is a page's document with the limit that is known to fit, where that is
// less than it asks for.
func (p *pageLimits) limited(r throughput.Request, document json.RawMessage) (json.RawMessage, throughput.Request) {
	p.mu.Lock()
	limit := p.known[pagesOf(r)]
	p.mu.Unlock()
	var own struct{ Limit int64 }
	if limit == 0 || json.Unmarshal(document, &own) != nil || (own.Limit > 0 && own.Limit <= limit) {
		return document, r
	}
	smaller, err := withField(document, "Limit", fmt.Sprint(limit))
	if err != nil {
		return document, r
	}
	parsed, err := throughput.ParseRequest(r.Name, smaller)
	if err != nil {
		return document, r
	}
	return smaller, parsed
}

// fits remembers how many items fitted; where half of the payload was left over, the
// next page may be larger.
func (p *pageLimits) fits(r throughput.Request, items int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= mostTables {
		p.known = map[string]int64{} // bounded; what is in use is learned again
	}
	p.known[pagesOf(r)] = max(items, 1)
}

// whole does a call and makes its answer fit into a payload.
func (d *Activities) whole(ctx context.Context, a *attempt, r throughput.Request, document json.RawMessage) (json.RawMessage, error) {
	paged := r.Name == "Query" || r.Name == "Scan"
	asked := document
	if paged {
		document, r = d.pages.limited(r, document)
	}
	answer, err := d.do(ctx, a, r, document)
	if err != nil {
		return nil, err
	}
	if paged && len(document) != len(asked) && len(answer) < d.payload/2 {
		var page pageAnswer
		if json.Unmarshal(answer, &page) == nil && len(page.LastEvaluatedKey) > 0 {
			d.pages.fits(r, page.ScannedCount*3/2)
		}
	}
	return d.fit(ctx, a, r, document, answer)
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
			d.pages.fits(r, int64(keep))
			return cut, nil
		}
		// Where the page can't tell its own end, the service is asked for less.
		limit := min(max(page.ScannedCount*int64(keep)/int64(len(page.Items)), 1), page.ScannedCount-1)
		d.pages.fits(r, limit)
		smaller, err := withField(document, "Limit", fmt.Sprint(limit))
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
