package counting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/internal/s3event"
)

// tableOf is a DynamoDB table as far as the ledger uses it. disturb is asked
// before every write: "lose" drops the answer of a write that was done, "refuse"
// does not do it, "die" ends the caller before it, "die after" behind it.
type tableOf struct {
	mu      sync.Mutex
	items   map[string]map[string]json.RawMessage
	writes  int
	disturb func(n int) string
}

var errDied = errors.New("the worker died")

func newTableOf() *tableOf { return &tableOf{items: map[string]map[string]json.RawMessage{}} }

func (tb *tableOf) Call(_ context.Context, operation string, document json.RawMessage, _ int) (json.RawMessage, error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch operation {
	case "GetItem":
		var in struct{ Key map[string]struct{ S string } }
		must(json.Unmarshal(document, &in))
		item, ok := tb.items[in.Key["id"].S]
		if !ok {
			return json.RawMessage(`{}`), nil
		}
		return marshal(map[string]any{"Item": item}), nil
	case "BatchGetItem":
		var in struct {
			RequestItems map[string]struct {
				Keys []map[string]struct{ S string }
			}
		}
		must(json.Unmarshal(document, &in))
		found := []any{}
		for _, key := range in.RequestItems["t"].Keys {
			if item, ok := tb.items[key["id"].S]; ok {
				found = append(found, item)
			}
		}
		return marshal(map[string]any{"Responses": map[string]any{"t": found}}), nil
	}
	tb.writes++
	what := ""
	if tb.disturb != nil {
		what = tb.disturb(tb.writes)
	}
	switch what {
	case "refuse":
		return nil, activities.Fail(activities.TypeThrottled, activities.Failure{Message: "slow down"})
	case "die":
		return nil, errDied
	}
	if err := tb.write(operation, document); err != nil {
		return nil, err
	}
	switch what {
	case "lose":
		return nil, activities.Fail(activities.TypeAmbiguous, activities.Failure{Message: "no answer"})
	case "die after":
		return nil, errDied
	}
	return json.RawMessage(`{}`), nil
}

func (tb *tableOf) write(operation string, document json.RawMessage) error {
	var in struct {
		Item                      map[string]json.RawMessage
		Key                       map[string]json.RawMessage
		ConditionExpression       string
		ExpressionAttributeValues map[string]json.RawMessage
	}
	must(json.Unmarshal(document, &in))
	key := in.Item["id"]
	if operation == "UpdateItem" {
		key = in.Key["id"]
	}
	var id struct{ S string }
	must(json.Unmarshal(key, &id))
	old := tb.items[id.S]
	batch, wanted := number(old["batch"]), number(in.ExpressionAttributeValues[":b"])
	var ok bool
	switch in.ConditionExpression {
	case notLater:
		ok = batch < 0 || batch < wanted
	case "attribute_not_exists(#b)":
		ok = batch < 0
	case "#b = :b":
		ok = batch == wanted
	default:
		panic(in.ConditionExpression)
	}
	if !ok {
		return activities.Fail(activities.TypeConditionFailed, activities.Failure{Message: "condition"})
	}
	if operation == "PutItem" {
		tb.items[id.S] = in.Item
		return nil
	}
	values := in.ExpressionAttributeValues
	tb.items[id.S] = map[string]json.RawMessage{"id": key, "num_records": values[":n"], "last_change": values[":t"], "batch": values[":b"]}
	return nil
}

func (tb *tableOf) count(id string) int64 {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return max(number(tb.items[id]["num_records"]), 0)
}

func number(raw json.RawMessage) int64 {
	var v struct{ N string }
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return -1
	}
	n, err := strconv.ParseInt(v.N, 10, 64)
	must(err)
	return n
}

func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	must(err)
	return raw
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newLedger(tb *tableOf, owner string) *ledger {
	return &ledger{db: tb, table: "t", owner: owner, failed: func(error) {}}
}

func created(key string, sequence int) s3event.Event {
	return s3event.Event{Kind: s3event.Created, Bucket: "b", Key: key, Stamp: s3event.Stamp{Sequencer: fmt.Sprintf("%06X", sequence)}}
}

func removed(key string, sequence int) s3event.Event {
	e := created(key, sequence)
	e.Kind = s3event.Removed
	return e
}

func TestLedgerCounts(t *testing.T) {
	tb := newTableOf()
	l := newLedger(tb, "a")
	done, err := l.apply(t.Context(), []s3event.Event{created("x", 1), created("y", 1), created("x", 2), created("x", 1)})
	require.NoError(t, err)
	require.Equal(t, applied{news: 2, batches: 1}, done)
	require.EqualValues(t, 2, tb.count("b"))
	before := tb.writes
	done, err = l.apply(t.Context(), []s3event.Event{created("x", 2), created("y", 1)})
	require.NoError(t, err)
	require.Zero(t, done)
	require.Equal(t, before, tb.writes, "what is no news is not written")
	_, err = l.apply(t.Context(), []s3event.Event{removed("x", 3)})
	require.NoError(t, err)
	require.EqualValues(t, 1, tb.count("b"))
}

// However a batch is cut short, by a kill before or behind any of its writes, by
// lost answers or refusals: the attempt that follows makes the count exact.
func TestCaseQ04KilledBetweenWriteAndAcknowledge(t *testing.T) {
	events := []s3event.Event{created("x", 1), created("y", 1), removed("z", 1), created("x", 2)}
	for _, what := range []string{"die", "die after"} {
		for n := 1; n <= 6; n++ {
			tb := newTableOf()
			_, err := newLedger(tb, "before").apply(t.Context(), []s3event.Event{created("z", 0)})
			require.NoError(t, err)
			first := tb.writes
			tb.disturb = func(i int) string {
				if i >= first+n {
					return what
				}
				return ""
			}
			_, err = newLedger(tb, "killed").apply(t.Context(), events)
			died := err != nil
			tb.disturb = nil
			_, err = newLedger(tb, "next").apply(t.Context(), events) // the messages come again
			require.NoError(t, err)
			require.EqualValuesf(t, 2, tb.count("b"), "%s at write %d, died %v", what, n, died)
		}
	}
}

func TestLedgerRepeatsWhatIsNotSure(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			tb := newTableOf()
			tb.disturb = func(int) string { return []string{"", "", "", "lose", "refuse"}[random.IntN(5)] }
			l := newLedger(tb, "a")
			for i := range 5 {
				for {
					_, err := l.apply(t.Context(), []s3event.Event{created("x", i), created(fmt.Sprint(i), 1)})
					if err == nil {
						break
					}
					require.Equal(t, activities.TypeThrottled, activities.TypeOf(err), "the intent was refused")
				}
			}
			require.EqualValues(t, 6, tb.count("b"))
		})
	}
}

// Workers that run at once, whose messages overlap, and that are killed anywhere,
// count what there is.
func TestLedgerWithSeveralWorkersAtOnce(t *testing.T) {
	for round := range 8 {
		synctest.Test(t, func(t *testing.T) { severalWorkers(t, round) })
	}
}

func severalWorkers(t *testing.T, round int) {
	tb := newTableOf()
	var kills sync.Map
	tb.disturb = func(n int) string {
		if _, dead := kills.LoadOrStore(n/17, n); !dead && n%3 == round%3 {
			return "die after"
		}
		return ""
	}
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			l := newLedger(tb, fmt.Sprint(w))
			for i := range 40 {
				events := []s3event.Event{created(fmt.Sprintf("k%d", i), 1), created(fmt.Sprintf("w%d-%d", w, i), 1)}
				if i%5 == 0 {
					events = append(events, removed(fmt.Sprintf("k%d", i), 2))
				}
				for {
					if _, err := l.apply(t.Context(), events); err == nil {
						break
					}
					l = newLedger(tb, fmt.Sprintf("%d again", w)) // the worker is started again
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 40-8+3*40, tb.count("b"))
}

// Batches whose intent would not fit into an item are cut.
func TestLedgerCutsLargeBatches(t *testing.T) {
	tb := newTableOf()
	var events []s3event.Event
	for i := range 1500 {
		e := created(fmt.Sprintf("%d-%s", i, strings.Repeat(string(rune('a'+i%26)), 900)), i)
		e.ETag = fmt.Sprintf("%x", strings.Repeat(fmt.Sprint(i*7919), 40))
		events = append(events, e)
	}
	done, err := newLedger(tb, "a").apply(t.Context(), events)
	require.NoError(t, err)
	require.EqualValues(t, 1500, done.news)
	require.EqualValues(t, 1500, tb.count("b"))
	var intent struct{ B []byte }
	require.NoError(t, json.Unmarshal(tb.items[intentID]["changes"], &intent))
	require.Less(t, len(intent.B), 400<<10)
}

func TestLedgerReportsATableThatIsNotOurs(t *testing.T) {
	tb := newTableOf()
	tb.items[intentID] = map[string]json.RawMessage{"id": json.RawMessage(`{"S":"x"}`), "batch": json.RawMessage(`{"N":""}`)}
	_, err := newLedger(tb, "a").apply(t.Context(), []s3event.Event{created("x", 1)})
	require.ErrorContains(t, err, "is not ours")
}
