package programs_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice"
	"sluice/activities"
	"sluice/tests/harness"
)

// A program's own code calls DynamoDB within the budget that workers share: many calls at
// once are all done, and the table hardly refuses any.
func TestAProgramOfOnesOwnCallsDynamoDBWithinTheBudget(t *testing.T) {
	s := harness.Start(t)
	s.StartWorker()
	table := s.NewTable(harness.Table{Read: 30, Write: 30})
	config, clients := connected(t, s)
	db := sluice.OpenDynamoDB(config, clients, sluice.Hooks{})
	defer db.Close()
	item := func(id string) map[string]any {
		return map[string]any{"TableName": table, "Item": map[string]any{"id": map[string]string{"S": id}}}
	}
	const callers, calls = 10, 9
	errs := make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for j := range calls {
				if _, err := db.Call(t.Context(), "PutItem", item(fmt.Sprint(i, "/", j)), 0); err != nil {
					errs[i] = err
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	puts := s.Guard.Counters(t).Sum(harness.DynamoDB, "PutItem", table)
	require.GreaterOrEqual(t, puts.Calls-puts.Throttled, callers*calls)
	require.Less(t, puts.Throttled, callers*calls/5, "three times what the table takes a second was asked for at once")
	once := item("0/0")
	once["ConditionExpression"] = "attribute_not_exists(id)"
	_, err := db.Call(t.Context(), "PutItem", once, 1)
	require.Equal(t, activities.TypeConditionFailed, activities.TypeOf(err))
}

// It puts records by the workers' producer; one that no stream takes is told, and the
// others are stored.
func TestAProgramOfOnesOwnPutsRecords(t *testing.T) {
	s := harness.Start(t)
	stream := s.NewStream(2)
	config, clients := connected(t, s)
	producer := sluice.OpenKinesis(config, clients, sluice.Hooks{})
	records := make([]sluice.KinesisRecord, 1200)
	for i := range records {
		records[i] = sluice.KinesisRecord{Data: fmt.Append(nil, i), PartitionKey: fmt.Sprint("key ", i%7)}
	}
	records[600].PartitionKey = ""
	put, err := producer.Put(t.Context(), stream, records, sluice.ProducerOptions{Ordered: true})
	require.NoError(t, err)
	require.EqualValues(t, len(records)-1, put.StoredRecordCount)
	require.Len(t, put.Failed, 1)
	require.EqualValues(t, 600, put.Failed[0].Index)
	_, err = producer.Put(t.Context(), s.Name("absent"), records[:1], sluice.ProducerOptions{})
	require.Equal(t, activities.TypeNotFound, activities.TypeOf(err))
}
