package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sluice/workflows"
)

const (
	objectsIngested = 8
	recordsIngested = 300 // of each object
)

// ingestion runs the main job: no record is missing.
func ingestion(ctx context.Context, w *world) (promises []Promise, err error) {
	for o := range objectsIngested {
		var body bytes.Buffer
		for r := range recordsIngested {
			fmt.Fprintf(&body, `{"object":%d,"record":%d,"text":"%s"}`+"\n", o, r, strings.Repeat("x", 500))
		}
		key := fmt.Sprintf("ingested/%d.jsonl", o)
		err := again(ctx, key, func(ctx context.Context) error {
			_, err := w.s.S3.PutObject(ctx, &s3.PutObjectInput{Bucket: &w.made.source, Key: &key, Body: bytes.NewReader(body.Bytes())})
			return err
		})
		if err != nil {
			return promises, err
		}
	}
	id, err := w.acceptedIngestion(ctx)
	promises = []Promise{{System: "ingest", ID: id, States: []string{"DONE"},
		Figures: map[string]int64{"objects": objectsIngested, "tasks": objectsIngested, "missing": 0, "records": objectsIngested * recordsIngested, "delivered": objectsIngested * recordsIngested}}}
	if err != nil {
		return promises, err
	}
	return promises, w.ended(ctx, id)
}

// acceptedIngestion starts runs until one is past looking up what it names: a run is
// refused at once, and has begun nothing, where a service does not answer then.
func (w *world) acceptedIngestion(ctx context.Context) (id string, err error) {
	d := w.made.delivery
	document := map[string]any{
		"bucket": w.made.source, "prefix": "ingested/", "queue": w.made.ingests, "stream": d.Stream, "table": w.made.progress,
		"delivery": map[string]string{"bucket": d.Bucket, "notifications": d.Notifications},
		"quiet":    map[string]any{"repeats": 4, "delay": map[string]any{"base": "2s"}},
	}
	for n := 1; ; n++ {
		id = fmt.Sprintf("ingest/%s-%d", w.name, n)
		if err := w.start(ctx, id, workflows.TypeIngest, document); err != nil {
			return id, err
		}
		accepted := false
		err := w.until(ctx, id, func(status map[string]any) error {
			if objects, _ := status["objects"].(float64); objects > 0 {
				accepted = true
			} else if w.running(ctx, id) {
				return errors.New("it looks up what it names")
			}
			return nil
		})
		if accepted || err != nil {
			return id, err
		}
	}
}
