package dynamodb

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/activities"
)

// bigPages answers Query and Scan over items of about 1,000 bytes with ids from 0 on;
// a page holds so many, and of these every second one passes a filter.
type bigPages struct {
	t           *testing.T
	items, page int
	hidden      bool // the answer leaves the key out
	asked       []string
}

func (p *bigPages) answer(_ string, body []byte) reply {
	var in struct {
		Limit             int
		FilterExpression  string
		ExclusiveStartKey map[string]map[string]string
	}
	require.NoError(p.t, json.Unmarshal(body, &in))
	p.asked = append(p.asked, string(body))
	from := 0
	if last, ok := in.ExclusiveStartKey["id"]; ok {
		n, err := strconv.Atoi(last["N"])
		require.NoError(p.t, err)
		from = n + 1
	}
	limit := p.page
	if in.Limit > 0 {
		limit = min(limit, in.Limit)
	}
	to := min(from+limit, p.items)
	items := []string{}
	for id := from; id < to; id++ {
		switch padding := strings.Repeat("x", 960); {
		case in.FilterExpression != "" && id%2 == 1:
		case p.hidden:
			items = append(items, fmt.Sprintf(`{"p":{"S":"%s"}}`, padding))
		default:
			items = append(items, fmt.Sprintf(`{"id":{"N":"%d"},"p":{"S":"%s"}}`, id, padding))
		}
	}
	last := ""
	if to < p.items {
		last = fmt.Sprintf(`,"LastEvaluatedKey":{"id":{"N":"%d"}}`, to-1)
	}
	return reply{200, fmt.Sprintf(`{"Items":[%s],"Count":%d,"ScannedCount":%d%s}`, strings.Join(items, ","), len(items), to-from, last), ""}
}

// pageAsked reads a page as a caller does who goes on from its last key.
type pageAsked struct {
	Items               []json.RawMessage
	Count, ScannedCount int
	LastEvaluatedKey    json.RawMessage
}

// readOn reads to the end, page by page, and returns the ids in the order read.
func readOn(t *testing.T, db *Activities, operation, document string, payload int) (ids []int) {
	t.Helper()
	for next := document; ; {
		r := requestFor(t, operation, next)
		a := &attempt{operation: operation, class: 2, number: 1}
		answer, err := db.whole(t.Context(), a, r, json.RawMessage(next))
		require.NoError(t, err)
		require.LessOrEqual(t, len(answer), payload)
		var page pageAsked
		require.NoError(t, json.Unmarshal(answer, &page))
		require.Len(t, page.Items, page.Count)
		if !strings.Contains(document, "Filter") && !strings.Contains(document, "Projection") {
			require.Equal(t, page.Count, page.ScannedCount)
			ids = append(ids, idsOf(t, page.Items)...)
		} else {
			ids = append(ids, make([]int, page.Count)...)
		}
		if len(page.LastEvaluatedKey) == 0 {
			return ids
		}
		with, err := withField(json.RawMessage(document), "ExclusiveStartKey", string(page.LastEvaluatedKey))
		require.NoError(t, err)
		next = string(with)
	}
}

// Whatever the page, the caller who goes on from LastEvaluatedKey sees every item
// once, in payloads that fit. What is cut off the first
// page of twenty is read with the next one, and from then on no more is asked for than
// fits: 13 pages of eight.
func TestPagesThatNoPayloadHoldsAreCut(t *testing.T) {
	const payload = 10_000
	for _, c := range []struct {
		name, operation, document string
		fake                      bigPages
		want                      int
		calls                     int // of the service; 0: not told
	}{
		{"a page in the middle", "Query", `{"TableName":"orders"}`, bigPages{items: 100, page: 20}, 100, 13},
		{"the last page", "Scan", `{"TableName":"orders"}`, bigPages{items: 20, page: 20}, 20, 0},
		{"a filter", "Scan", `{"TableName":"orders","FilterExpression":"f"}`, bigPages{items: 100, page: 40}, 50, 0},
		{"a projection without the key", "Query", `{"TableName":"orders","ProjectionExpression":"p"}`, bigPages{items: 50, page: 30, hidden: true}, 50, 0},
		{"a limit of the caller's", "Query", `{"TableName":"orders","Limit":30}`, bigPages{items: 60, page: 50}, 60, 0},
		{"one that fits", "Query", `{"TableName":"orders"}`, bigPages{items: 8, page: 20}, 8, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := c.fake
			fake.t = t
			db := against(t, &fakeDynamoDB{answer: fake.answer}, func(config *Config) { config.MaxPayload = payload })
			ids := readOn(t, db, c.operation, c.document, payload)
			require.Len(t, ids, c.want)
			if ids[len(ids)-1] != 0 {
				require.Equal(t, upTo(c.want), ids, "each once, in order")
			}
			if c.calls > 0 {
				require.Len(t, fake.asked, c.calls)
			}
		})
	}
}

func TestAnswersThatCannotBeCutAreRefused(t *testing.T) {
	const payload = 10_000
	long := strings.Repeat("x", 2*payload)
	for _, c := range []struct{ operation, document, answer, want string }{
		{"GetItem", `{"TableName":"orders"}`, `{"Item":{"p":{"S":"` + long + `"}}}`, "a payload holds 10000"},
		{"Query", `{"TableName":"orders"}`, `{"Items":[{"p":{"S":"` + long + `"}}],"ScannedCount":1}`, "SLUICE_PAYLOAD_BUCKET"},
		{"UpdateItem", `{"TableName":"orders","ReturnValues":"ALL_NEW"}`, `{"Attributes":{"p":{"S":"` + long + `"}}}`, "applied, but the answer takes"},
	} {
		db := against(t, &fakeDynamoDB{replies: []reply{{200, c.answer, ""}}}, func(config *Config) { config.MaxPayload = payload })
		r := requestFor(t, c.operation, c.document)
		a := &attempt{operation: c.operation, class: 2, number: 1}
		_, err := db.fit(t.Context(), a, r, json.RawMessage(c.document), json.RawMessage(c.answer))
		errType, details, final := failureIn(t, err)
		require.Equal(t, activities.TypeTooLarge, errType)
		require.True(t, final)
		require.Equal(t, "orders", details.Target)
		require.ErrorContains(t, err, c.want)
	}
}

func TestCaseD05ALimitIsOnePage(t *testing.T) {
	fake := bigPages{t: t, items: 10_000, page: 1000}
	got, err := against(t, &fakeDynamoDB{answer: fake.answer}).Call(t.Context(), "Query", json.RawMessage(`{"TableName":"orders","Limit":10}`), 0)
	require.NoError(t, err)
	var page pageAsked
	require.NoError(t, json.Unmarshal(got, &page))
	require.Equal(t, upTo(10), idsOf(t, page.Items))
	require.NotEmpty(t, page.LastEvaluatedKey)
	require.Len(t, fake.asked, 1)
}
