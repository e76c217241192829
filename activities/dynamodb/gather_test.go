package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/internal/throughput"
)

// itemTable answers reads of a table whose items are {"id":{"N":n}}, all but those
// that are odd, and says what was called.
type itemTable struct {
	mu    sync.Mutex
	calls []string
	fail  func(operation string) error
}

func (table *itemTable) Call(ctx context.Context, operation string, body json.RawMessage, _ int) (json.RawMessage, error) {
	table.mu.Lock()
	defer table.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	table.calls = append(table.calls, operation)
	if table.fail != nil {
		if err := table.fail(operation); err != nil {
			return nil, err
		}
	}
	type key struct{ ID struct{ N json.Number } }
	exists := func(k key) bool { n, _ := k.ID.N.Float64(); return int(n)%2 == 0 }
	item := func(k key) string {
		n, _ := k.ID.N.Float64()
		return fmt.Sprintf(`{"id":{"N":"%g"},"n":{"N":"%g"}}`, n, n)
	}
	var asked struct {
		Key          *key
		RequestItems map[string]struct {
			Keys           []key
			ConsistentRead bool
		}
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	if asked.Key != nil {
		if !exists(*asked.Key) {
			return json.RawMessage(`{}`), nil
		}
		return json.RawMessage(`{"Item":` + item(*asked.Key) + `}`), nil
	}
	responses := map[string][]json.RawMessage{}
	for name, read := range asked.RequestItems {
		if !read.ConsistentRead || len(read.Keys) > mostReads {
			return nil, activities.Fail(activities.TypeInvalidInput, activities.Failure{Message: "too many keys, or not consistent"})
		}
		for _, k := range read.Keys {
			if exists(k) {
				responses[throughput.TableName(name)] = append(responses[throughput.TableName(name)], json.RawMessage(item(k)))
			}
		}
	}
	return json.Marshal(map[string]any{"Responses": responses})
}

// readAll reads these keys at the same moment.
func readAll(t *testing.T, g *GatheredReads, table string, keys ...string) (items []string, errs []error) {
	t.Helper()
	items, errs = make([]string, len(keys)), make([]error, len(keys))
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() {
			item, err := g.Item(t.Context(), table, json.RawMessage(`{"id":{"N":"`+key+`"}}`))
			items[i], errs[i] = string(item), err
		})
	}
	all.Wait()
	return items, errs
}

func TestGatheredReadsMakeOneCallForManyItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &itemTable{}
		g := NewGatheredReads(table)
		// One key in two spellings, one that is not there, a table by its ARN.
		items, errs := readAll(t, g, "arn:aws:dynamodb:eu-west-1:123456789012:table/counts", "2", "2.0", "4", "5")
		require.Equal(t, make([]error, 4), errs)
		require.Equal(t, []string{`{"id":{"N":"2"},"n":{"N":"2"}}`, `{"id":{"N":"2"},"n":{"N":"2"}}`, `{"id":{"N":"4"},"n":{"N":"4"}}`, ""}, items)
		require.Equal(t, []string{"BatchGetItem"}, table.calls)

		items, errs = readAll(t, g, "counts", "6")
		require.Equal(t, []error{nil}, errs)
		require.Equal(t, []string{`{"id":{"N":"6"},"n":{"N":"6"}}`}, items)
		require.Equal(t, []string{"BatchGetItem", "GetItem"}, table.calls, "one alone is read as ever")
		require.Empty(t, g.open)
	})
}

func TestGatheredReadsTakeAtMostAHundredKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &itemTable{}
		keys := make([]string, 250)
		for i := range keys {
			keys[i] = fmt.Sprint(2 * i)
		}
		items, errs := readAll(t, NewGatheredReads(table), "counts", keys...)
		for i, key := range keys {
			require.NoError(t, errs[i])
			require.JSONEq(t, fmt.Sprintf(`{"id":{"N":"%s"},"n":{"N":"%s"}}`, key, key), items[i])
		}
		require.Equal(t, []string{"BatchGetItem", "BatchGetItem", "BatchGetItem"}, table.calls)
	})
}

// What may be due to one of the keys is asked again for each: no watch fails for
// another's mistake. What is the service's is not: it has trouble enough.
func TestGatheredReadsFailEachForItself(t *testing.T) {
	batchesFail := func(errType string) *itemTable {
		return &itemTable{fail: func(operation string) error {
			if operation == "BatchGetItem" {
				return activities.Fail(errType, activities.Failure{Message: "refused"})
			}
			return nil
		}}
	}
	for errType, want := range map[string]int{activities.TypeInvalidInput: 3, activities.TypeThrottled: 1, activities.TypeUnavailable: 1} {
		synctest.Test(t, func(t *testing.T) {
			table := batchesFail(errType)
			_, errs := readAll(t, NewGatheredReads(table), "counts", "2", "4")
			require.Len(t, table.calls, want, errType)
			for _, err := range errs {
				require.Equal(t, want == 1, err != nil, errType)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		table := batchesFail(activities.TypeAccessDenied)
		g := NewGatheredReads(table)
		for range 2 {
			_, errs := readAll(t, g, "counts", "2", "4")
			require.Equal(t, make([]error, 2), errs)
		}
		require.Equal(t, []string{"BatchGetItem", "GetItem", "GetItem", "GetItem", "GetItem"}, table.calls, "a role that may not is not asked again")
	})
}

func TestGatheredReadsGoOnWhileAnyoneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended error
		g := NewGatheredReads(CallerFunc(func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			select {
			case <-ctx.Done():
				ended = ctx.Err()
				return nil, ctx.Err()
			case <-time.After(10 * time.Second):
				return json.RawMessage(`{"Responses":{"counts":[{"id":{"N":"2"}}]}}`), nil
			}
		}))
		leaving, leave := context.WithCancel(t.Context())
		var first, second error
		var both sync.WaitGroup
		both.Go(func() { _, first = g.Item(leaving, "counts", json.RawMessage(`{"id":{"N":"4"}}`)) })
		both.Go(func() { _, second = g.Item(t.Context(), "counts", json.RawMessage(`{"id":{"N":"2"}}`)) })
		time.AfterFunc(time.Second, leave)
		both.Wait()
		require.ErrorIs(t, first, context.Canceled)
		require.NoError(t, second)
		require.NoError(t, ended)

		leaving, leave = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		_, err := g.Item(leaving, "counts", json.RawMessage(`{"id":{"N":"4"}}`))
		require.ErrorIs(t, err, context.Canceled)
		synctest.Wait()
		require.ErrorIs(t, ended, context.Canceled, "nobody waits any more")
	})
}

// One that left before the call was made takes nobody with it.
func TestGatheredReadsBeginAnewAfterAllHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGatheredReads(&itemTable{})
		left, leave := context.WithCancel(t.Context())
		leave()
		_, err := g.Item(left, "counts", json.RawMessage(`{"id":{"N":"4"}}`))
		require.ErrorIs(t, err, context.Canceled)
		items, errs := readAll(t, g, "counts", "4")
		require.Equal(t, []error{nil}, errs)
		require.NotEmpty(t, items[0])
	})
}

func TestGatheredReadsRefuseWhatIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, answer := range []string{`[]`, `{"Responses":{"counts":["x"]}}`} {
			g := NewGatheredReads(CallerFunc(func(_ context.Context, operation string, _ json.RawMessage) (json.RawMessage, error) {
				if operation == "GetItem" {
					return nil, errors.New("asked for by itself")
				}
				return json.RawMessage(answer), nil
			}))
			_, errs := readAll(t, g, "counts", "2", "4")
			for _, err := range errs {
				require.ErrorContains(t, err, "asked for by itself", answer)
			}
		}
	})
}
