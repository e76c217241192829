package soak

import (
	"bytes"
	"context"
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
	id := "ingest/" + w.name
	promises = []Promise{{System: "ingest", ID: id, States: []string{"DONE"},
		Figures: map[string]int64{"objects": objectsIngested, "tasks": objectsIngested, "missing": 0, "records": objectsIngested * recordsIngested, "delivered": objectsIngested * recordsIngested}}}
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
	d := w.made.delivery
	err = w.start(ctx, id, workflows.TypeIngest, map[string]any{
		"bucket": w.made.source, "prefix": "ingested/", "queue": w.made.ingests, "stream": d.Stream, "table": w.made.progress,
		"delivery": map[string]string{"bucket": d.Bucket, "notifications": d.Notifications},
		"quiet":    map[string]any{"repeats": 4, "delay": map[string]any{"base": "2s"}},
	})
	if err != nil {
		return promises, err
	}
	return promises, w.ended(ctx, id)
}
