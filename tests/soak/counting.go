package soak

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sluice/workflows"
)

const (
	objectsCounted = 60
	timesWritten   = 2
)

// counting has CountObjects count what a bucket announces, each object written twice,
// and drains it: the item has the number of objects, however often they were told.
func counting(ctx context.Context, w *world) (promises []Promise, err error) {
	id := workflows.CountID(w.made.announced)
	promises = []Promise{
		{System: "counting", ID: id, States: []string{"DONE"}, Figures: map[string]int64{"unreadable": 0}},
		{System: "counting", ID: itemFinal(w.made.counters, w.made.landing), Figures: map[string]int64{"num_records": objectsCounted}},
	}
	if err := w.start(ctx, id, workflows.TypeCountObjects, map[string]any{"queueUrl": w.made.announced, "table": w.made.counters, "key": "bucket"}); err != nil {
		return promises, err
	}
	err = w.spread(ctx, objectsCounted*timesWritten, func(ctx context.Context, i int) error {
		key := fmt.Sprint("object ", i%objectsCounted)
		return again(ctx, key, func(ctx context.Context) error {
			_, err := w.s.S3.PutObject(ctx, &s3.PutObjectInput{Bucket: &w.made.landing, Key: &key, Body: strings.NewReader(fmt.Sprint(i))})
			return err
		})
	})
	if err != nil {
		return promises, err
	}
	// It drains while a poll finds something; what a lost worker had taken comes back
	// later, so the number is awaited first.
	err = again(ctx, "all objects are counted", func(ctx context.Context) error {
		figures, err := w.item(ctx, itemFinal(w.made.counters, w.made.landing))
		if err == nil && figures["num_records"] != objectsCounted {
			err = fmt.Errorf("%d of %d", figures["num_records"], objectsCounted)
		}
		return err
	})
	if err != nil {
		return promises, err
	}
	if err := w.update(ctx, id, workflows.UpdateDrain, map[string]any{"wait": "10s"}); err != nil {
		return promises, err
	}
	return promises, w.ended(ctx, id)
}
