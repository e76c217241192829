package recordbatch_test

import (
	"fmt"
	"time"

	"sluice/internal/recordbatch"
)

// Records are packed into requests; one that the service refuses goes out again, after a
// pause, and only that one.
func ExampleQueue() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	queue := recordbatch.NewQueue(recordbatch.Settings{
		Limits:      recordbatch.Limits{Records: 500, RequestBytes: 5 << 20, RecordBytes: 1 << 20},
		BufferBytes: 1 << 20,
		Backoff:     func(int) time.Duration { return 50 * time.Millisecond },
	}, recordbatch.EvenShards(1), now)
	call := &recordbatch.Call{MaxAttempts: 10}
	var items []recordbatch.Item
	for i := range int64(3) {
		items = append(items, recordbatch.Item{Record: &recordbatch.Record{Key: "k", Data: []byte("data")}, Call: call, Index: i})
	}
	queue.Push(items, now)
	queue.Flush()

	request, _ := queue.Next(now)
	fmt.Println("sends", request.Records())
	request.Verdicts = []recordbatch.Verdict{{}, {Kind: recordbatch.Refused, Told: &recordbatch.Told{Code: recordbatch.CodeThrottled}}, {}}
	queue.Done(request, recordbatch.Outcome{Kind: recordbatch.Answered}, now)

	_, wake := queue.Next(now)
	request, _ = queue.Next(wake)
	fmt.Println("sends", request.Records(), "again, number", request.Items[0].Index, "after", wake.Sub(now))
	// Output:
	// sends 3
	// sends 1 again, number 1 after 50ms
}
